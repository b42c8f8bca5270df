import { insufficientAuthentication } from '../../errors.ts'
import type { Caller } from '../../request/caller.ts'
import { isCounting } from './counting-factor.ts'

const secondFactorSeconds = 600
const signInSeconds = 900

/**
 * Whether the session showed a second factor that counts in the last 10 minutes, one of the person's own, as owners need: what a
 * provider saw lets people in, and changes nothing. `now` in ms.
 */
export function hasFreshSecondFactor({ auth }: Caller, now: number): boolean {
  const { acr, amr, secondFactorAt } = auth.session
  return (
    isCounting(amr, { isOwner: true }) &&
    acr === 'aal2' &&
    secondFactorAt !== null &&
    now - secondFactorAt <= secondFactorSeconds * 1000
  )
}

/** Whether the person signed in in the last `seconds`, or another provider says so. */
const hasSignedInWithin = ({ auth }: Caller, now: number, seconds: number): boolean =>
  now - auth.session.authTime <= seconds * 1000

/** Throws 401 if MFA is on and the session has not shown a second factor in the last 10 minutes. `now` in ms. */
export function assertFreshSecondFactor(caller: Caller, now: number): void {
  if (caller.auth.user.mfaEnabled && !hasFreshSecondFactor(caller, now)) throw secondFactorFirst(caller)
}

/**
 * Throws 401 if the session has not shown a second factor in the last 10 minutes, where the installation has second
 * factors. `now` in ms.
 */
export function assertPossibleSecondFactor(caller: Caller, now: number): void {
  const isPossible = caller.auth.session.attainableAcr === 'aal2'
  if (isPossible && !hasFreshSecondFactor(caller, now)) throw secondFactorFirst(caller)
}

const secondFactorFirst = (caller: Caller) =>
  insufficientAuthentication('aal2', secondFactorSeconds, `${showFactor(caller)}: ${verifyPath}.`)

const verifyPath = 'POST /api/v1/auth/otp/verify/'

/** Says to people who have shown a factor that it is too old, else they would look for another cause. */
const showFactor = ({ auth: { session } }: Caller) =>
  session.acr === 'aal2'
    ? 'The last second factor is older than 10 minutes. Show one again'
    : 'Show a second factor first'

/** Throws 401 if the session has not shown a second factor in the last 10 minutes, even if MFA is off. `now` in ms. */
export function assertStrongSession(caller: Caller, now: number): void {
  if (hasFreshSecondFactor(caller, now)) return
  throw insufficientAuthentication(
    'aal2',
    secondFactorSeconds,
    `Send your current_password along, or show a second factor: ${verifyPath}.`,
  )
}

/**
 * Throws 401 unless the session showed a second factor in the last 10 minutes, or signed in then and MFA is off. `now`
 * in ms.
 */
export function assertFreshSession(caller: Caller, now: number): void {
  assertFreshSecondFactor(caller, now)
  if (hasFreshSecondFactor(caller, now) || hasSignedInWithin(caller, now, secondFactorSeconds)) return
  throw insufficientAuthentication(
    'aal1',
    secondFactorSeconds,
    `Sign in again first, or show a second factor: ${verifyPath}.`,
  )
}

/** Throws 401 if the person signed in more than `seconds` ago, by default 15 minutes. `now` in ms. */
export function assertRecentSignIn(caller: Caller, now: number, seconds = signInSeconds): void {
  if (!hasSignedInWithin(caller, now, seconds))
    throw insufficientAuthentication(
      'aal1',
      seconds,
      'Sign in again first, or send your current_password along.',
    )
}
