import { insufficientAuthentication } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'

const secondFactorSeconds = 600
const signInSeconds = 900

/** Throws 401 where MFA is on and the session has not shown a second factor in the last 10 minutes. `now` in ms. */
export function assertFreshSecondFactor({ auth }: Caller, now: number): void {
  const { acr, secondFactorAt } = auth.session
  const fresh =
    acr === 'aal2' && secondFactorAt !== null && now - secondFactorAt <= secondFactorSeconds * 1000
  if (auth.user.mfaEnabled && !fresh)
    throw insufficientAuthentication(
      'aal2',
      secondFactorSeconds,
      'Show a second factor first: POST /api/v1/auth/otp/verify/.',
    )
}

/** Throws 401 where the session has not shown a second factor in the last 10 minutes, MFA on or not. `now` in ms. */
export function assertStrongSession({ auth }: Caller, now: number): void {
  const { acr, secondFactorAt } = auth.session
  if (acr === 'aal2' && secondFactorAt !== null && now - secondFactorAt <= secondFactorSeconds * 1000) return
  throw insufficientAuthentication(
    'aal2',
    secondFactorSeconds,
    'Send your current_password along, or show a second factor first: POST /api/v1/auth/otp/verify/.',
  )
}

/** Throws 401 where the person signed in more than 15 minutes ago. `now` in ms. */
export function assertRecentSignIn({ auth }: Caller, now: number): void {
  if (now - auth.session.authTime > signInSeconds * 1000)
    throw insufficientAuthentication(
      'aal1',
      signInSeconds,
      'Log in again first, or send your current_password along.',
    )
}
