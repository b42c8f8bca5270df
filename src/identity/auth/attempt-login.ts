import type { Deps } from '../../deps.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { findFirstTenantOf } from '../../tenancy/tenants/store.ts'
import { guardPassword } from '../rate-limits/guard-password.ts'
import { padDuration } from '../rate-limits/pad-duration.ts'
import { findCredentials } from '../users/store.ts'
import { type LoginBody, login } from './login.ts'

const wrongPassword = 'invalid_credentials'
const refusalMs = 50

/**
 * {@link login} behind the counters of failures: 429 `account_locked` or `throttled` where there were too many. A
 * wrong password leaves the event `identity.login_failed`, and an unknown address a line of the log, in the same time.
 */
export async function attemptLogin(deps: Deps, requestInfo: RequestInfo, body: LoginBody) {
  const { email } = body
  try {
    return await guardPassword(deps, { email, requestInfo }, wrongPassword, () =>
      login(deps, requestInfo, body),
    )
  } catch (error) {
    if (error instanceof ApiError && error.code === wrongPassword)
      await padDuration(refusalMs, () => recordFailure(deps, requestInfo, email))
    throw error
  }
}

/** The event goes to the person's oldest tenant, for nobody proved to be who they say. */
async function recordFailure(deps: Deps, requestInfo: RequestInfo, email: string): Promise<void> {
  const { requestId } = requestInfo
  const at = deps.clock()
  const known = await asSystem(deps.db, 'nobody is logged in', async (tx) => {
    const person = await findCredentials(tx, email)
    const tenantId = person && (await findFirstTenantOf(tx, person.id))
    if (!person || !tenantId) return false
    const { id } = person
    const event = { type: 'identity.login_failed', tenantId, subject: id } as const
    await appendEvent(tx, { ...event, data: { user_id: id }, actorId: null, requestId, at })
    return true
  })
  if (!known) deps.log.info({ request_id: requestId, ip: requestInfo.ip }, 'login failed: unknown address')
}
