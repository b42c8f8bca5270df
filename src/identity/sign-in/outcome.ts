import type { ApiError } from '../../errors.ts'
import type { Grant } from './issue-tokens.ts'
import type { Challenge } from './second-factor.ts'

/** A session opened, or showed the factor that a tenant demanded. Its tokens are not signed yet. */
export interface Opened {
  kind: 'opened'
  grant: Grant
}

/** A session goes on as it is, in its tenant or in another one. */
export interface Continued {
  kind: 'continued'
  grant: Grant
}

/** A sign-in, or a session that asks for another tenant, waits for a second factor. */
export interface FactorDue {
  kind: 'factor_due'
  challenge: Challenge
}

/** A second factor was shown, and the session or the sign-in that waits goes on with the tokens that it has. */
export interface Renewed {
  kind: 'renewed'
}

export interface Refused {
  kind: 'refused'
  error: ApiError
}

/** The first factor is not valid: a wrong password, or one that was replaced meanwhile; an inactive person. */
export interface NotShown {
  kind: 'not_shown'
}

/** How a sign-in ends. */
export type SignInOutcome = Opened | FactorDue | Refused | NotShown

/** How it ends when a session that is open asks for the tokens of a tenant. */
export type Continuation = Continued | FactorDue | Refused

export const refused = (error: ApiError): Refused => ({ kind: 'refused', error })

export const renewed: Renewed = { kind: 'renewed' }

export const notShown: NotShown = { kind: 'not_shown' }

/** The outcome, unless it is a refusal: then throws its error. */
export function orThrow<Outcome extends { kind: string }>(
  outcome: Outcome | Refused,
): Exclude<Outcome, Refused> {
  if (isRefused(outcome)) throw outcome.error
  return outcome as Exclude<Outcome, Refused>
}

const isRefused = (outcome: { kind: string }): outcome is Refused => outcome.kind === 'refused'
