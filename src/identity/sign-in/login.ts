import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, unauthorized } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { checkPassword } from '../auth/check-password.ts'
import {
  guardPassword,
  type PasswordAttempt,
  type WrongPassword,
  wrongPassword,
} from '../rate-limits/guard-password.ts'
import { signInUses } from '../rate-limits/limits.ts'
import { padDuration } from '../rate-limits/pad-duration.ts'
import { findCredentials } from '../users/store.ts'
import type { TokenPair } from './issue-tokens.ts'
import { recordLoginFailed } from './record-login-failed.ts'
import type { OtpRequired } from './second-factor.ts'
import { passwordShown } from './sign-in.ts'
import { signInTo } from './sign-in-to.ts'

interface LoginBody {
  email: string
  password: string
  tenant_id?: string | undefined
}

/** A failure is recorded in a multiple of this time (ms), so that it does not show whether the address has an account. */
const refusalMs = 50

/** 401, the same for an unknown address, a wrong password and an inactive person. */
export const invalidCredentials = () =>
  unauthorized('invalid_credentials', 'No active account has this address and password.')

/**
 * Logs a person in to the tenant they name, else to the one they entered last; or asks for a second factor first.
 * 401 `invalid_credentials`, in the same form and time for an unknown address, a wrong password and an inactive
 * person; 403 for a tenant that they cannot enter, only after the right password; 429 `account_locked` or `throttled`
 * after too many failures, or too many sign-ins. A wrong password leaves the event `identity.login_failed`, an unknown address a log line.
 */
export async function login(
  deps: Deps,
  requestInfo: RequestInfo,
  body: LoginBody,
): Promise<TokenPair | OtpRequired> {
  const { email } = body
  const outcome = await guardPassword(deps, { email, requestInfo }, (attempt) =>
    tryPassword(deps, requestInfo, body, attempt),
  )
  if (outcome === wrongPassword) {
    await padDuration(refusalMs, () => recordFailure(deps, requestInfo, email))
    throw invalidCredentials()
  }
  if (outcome instanceof ApiError) throw outcome
  return outcome
}

async function tryPassword(
  deps: Deps,
  requestInfo: RequestInfo,
  body: LoginBody,
  { found, clear }: PasswordAttempt,
): Promise<TokenPair | OtpRequired | ApiError | WrongPassword> {
  // Before the password is compared, which is costly; and for any address, so that no answer tells which are known.
  const uses = signInUses(body.email)
  await deps.limiters.take(uses)
  const person = await checkPassword(deps, found, body.password).catch(async (error: unknown) => {
    await deps.limiters.giveBack(uses)
    throw error
  })
  if (person === wrongPassword) {
    await deps.limiters.giveBack(uses)
    return person
  }
  const outcome = await signInTo(deps, person, body.tenant_id, passwordShown(person, clear), requestInfo)
  return outcome ?? wrongPassword
}

async function recordFailure(deps: Deps, requestInfo: RequestInfo, email: string): Promise<void> {
  const { requestId, ip } = requestInfo
  const at = deps.clock()
  const known = await asSystem(deps.db, 'no person is logged in yet', async (tx) => {
    const person = await findCredentials(tx, email)
    return person !== null && recordLoginFailed(tx, { userId: person.id, requestId, at })
  })
  if (!known) deps.log.info({ request_id: requestId, ip }, 'login failed: unknown address')
}
