import type { ApiError } from '../../errors.ts'
import { WithCredentials } from '../../request/answer/with-credentials.ts'
import type { Caller } from '../../request/caller.ts'
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

/**
 * A session or a sign-in that waits goes on with the tokens that it has; but a factor was shown in it, or others were
 * thrown out of it, and no copy of its cookie is to go on, too.
 */
export interface Renewed {
  kind: 'renewed'
}

/** The caller may act as a member for a while, in their own session (RFC 8693 §4.1). */
export interface Acting {
  kind: 'acting'
  actor: Pick<Caller, 'userId' | 'sessionId' | 'familyId' | 'tenantId' | 'auth'>
  member: { userId: string; roles: readonly string[] }
  /** Both are in ms since 1970. */
  at: number
  until: number
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

/** What a client receives in its form: as tokens, or as a cookie. */
export type HandedOut = Opened | Continued | FactorDue | Renewed | Acting

/** The answer to a request that ends so; `body` has its other members. */
export const handOut = (outcome: HandedOut, body: object = {}): WithCredentials<HandedOut> =>
  new WithCredentials(outcome, body)

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
