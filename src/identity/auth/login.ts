import type { Deps } from '../../deps.ts'
import { readAsSystem } from '../../platform/db/read.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { ApiError, unauthorized } from '../../platform/errors.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { listMembershipsOf, type Membership } from '../../tenancy/members/store.ts'
import { findFirstTenantOf } from '../../tenancy/tenants/store.ts'
import { guardPassword, wrongPassword } from '../rate-limits/guard-password.ts'
import { padDuration } from '../rate-limits/pad-duration.ts'
import { enterable } from '../sessions/enter-tenant.ts'
import type { TokenPair } from '../sessions/issue-tokens.ts'
import type { OtpRequired } from '../sessions/second-factor.ts'
import { type SignInOutcome, signIn } from '../sessions/sign-in.ts'
import { findCredentials } from '../users/store.ts'
import { checkPassword } from './check-password.ts'
import { createOwnTenant, type Person } from './create-own-tenant.ts'

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
 * after too many failures. A wrong password leaves the event `identity.login_failed`, an unknown address a log line.
 */
export async function login(
  deps: Deps,
  requestInfo: RequestInfo,
  body: LoginBody,
): Promise<TokenPair | OtpRequired> {
  const { email } = body
  const outcome = await guardPassword(deps, { email, requestInfo }, () => attempt(deps, requestInfo, body))
  if (outcome === wrongPassword) {
    await padDuration(refusalMs, () => recordFailure(deps, requestInfo, email))
    throw invalidCredentials()
  }
  if (outcome instanceof ApiError) throw outcome
  return outcome
}

async function attempt(deps: Deps, requestInfo: RequestInfo, body: LoginBody): Promise<SignInOutcome> {
  const person = await checkPassword(deps, body)
  if (person === wrongPassword) return person
  const membership = await findPlace(deps, person, body.tenant_id, requestInfo)
  return membership instanceof ApiError ? membership : signIn(deps, person, membership, requestInfo)
}

async function findPlace(
  deps: Deps,
  person: Person,
  tenantId: string | undefined,
  requestInfo: RequestInfo,
): Promise<Membership | ApiError> {
  const list = () =>
    readAsSystem(deps.db, 'no tenant is known yet', (read) => listMembershipsOf(read, person.id))
  const memberships = await list()
  if (tenantId !== undefined)
    return enterable(memberships.find((membership) => membership.tenant_id === tenantId))
  const last = lastEntered(memberships)
  if (last) return enterable(last)
  await createOwnTenant(deps, person, requestInfo)
  return enterable(lastEntered(await list()))
}

/**
 * The membership for a login without a tenant: of the active memberships, the most recently entered in an active
 * tenant (the oldest, if none was entered), else one in a closed tenant that the person owns. Undefined if there is none.
 */
function lastEntered(memberships: readonly Membership[]): Membership | undefined {
  const active = memberships.filter((membership) => membership.membership_status === 'active')
  return (
    active.find((membership) => membership.tenant_status === 'active') ??
    active.find((membership) => membership.is_owner)
  )
}

/** Appends the event to the person's oldest tenant, without an actor: the caller has not proved who they are. */
async function recordFailure(deps: Deps, requestInfo: RequestInfo, email: string): Promise<void> {
  const { requestId } = requestInfo
  const at = deps.clock()
  const known = await asSystem(deps.db, 'no person is logged in yet', async (tx) => {
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
