import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { sessionRevoked, tokenNotValid } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { listPlacesOf, noteEntry, type Place } from '../../tenancy/members/store.ts'
import type { DeviceType } from '../otp/channels.ts'
import { assertEnterable, isOverIn } from './enter-tenant.ts'
import { beginFamily, type Grant } from './issue-tokens.ts'
import { openSession } from './open-session.ts'
import { completePendingSession } from './pending-store.ts'
import { settledByCode } from './second-factor.ts'
import { raiseSession } from './store.ts'

/** What the kinds of devices are called in `amr` (RFC 8176; `email` and `rc` are ours). */
const method = { totp: 'otp', email: 'email', static: 'rc' } as const

/**
 * Follows up a second factor that was accepted in this transaction: the session is `aal2`, and with a temporary
 * token the sign-in it stands for is complete, once, which gives the grant of its pair. Everything is asked again
 * that may have changed since the password: person, membership, tenant. As the system role.
 */
export async function showSecondFactor(
  deps: Deps,
  tx: Tx,
  caller: Caller,
  shown: DeviceType,
  now: number,
): Promise<Grant | null> {
  const { userId, sessionId } = caller
  if (caller.token === 'otp_pending') return completeSignIn(deps, tx, caller, shown, now)
  const raised = await raiseSession(tx, { id: sessionId, userId, kind: method[shown], at: now })
  if (!raised) throw sessionRevoked()
  return null
}

async function completeSignIn(deps: Deps, tx: Tx, caller: Caller, shown: DeviceType, now: number) {
  const { userId, sessionId: id, auth, requestInfo } = caller
  const pending = await completePendingSession(tx, { id, userId, at: now })
  if (!pending) throw tokenNotValid()
  const place = (await listPlacesOf(tx, userId)).find((p) => p.tenant_id === pending.tenant_id)
  assertEnterable(place)
  if (pending.session_id !== null) return enter(deps, tx, caller, place, pending.session_id, shown, now)
  const amr = ['pwd', method[shown], 'mfa']
  const { email } = auth.user
  const settled = settledByCode(shown)
  const opening = { userId, email, place, amr, authTime: pending.auth_time, secondFactorAt: now, settled }
  return openSession(deps, tx, opening, requestInfo, now)
}

/** A session enters a tenant that demanded the second factor it has shown now. */
async function enter(
  deps: Deps,
  tx: Tx,
  caller: Caller,
  place: Place,
  sessionId: string,
  shown: DeviceType,
  now: number,
): Promise<Grant> {
  const { userId, auth } = caller
  const raised = await raiseSession(tx, { id: sessionId, userId, kind: method[shown], at: now })
  if (!raised || isOverIn(place, raised.created_at)) throw tokenNotValid()
  const { amr, auth_time: authTime, expires_at: expiresAt } = raised
  const { tenant_id: tenantId, roles } = place
  await noteEntry(tx, { tenantId, userId, at: now })
  const { email } = auth.user
  const settled = settledByCode(shown)
  const whole = { sessionId, userId, email, tenantId, roles, acr: 'aal2', amr, authTime, expiresAt } as const
  return beginFamily(deps, tx, { ...whole, settled }, now)
}
