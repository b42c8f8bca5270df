import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { sessionRevoked, tokenNotValid } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { listMembershipsOf, type Membership, recordEntry } from '../../tenancy/members/store.ts'
import type { DeviceType } from '../otp/channels.ts'
import { moveShown } from '../otp/youth-store.ts'
import { assertEnterable, isOverIn } from './enter-tenant.ts'
import { beginFamily, type Grant } from './issue-tokens.ts'
import { openSession } from './open-session.ts'
import { completePendingSession } from './pending-store.ts'
import { noteFactor, raiseSession } from './raise-store.ts'
import { demandsOneThatCounts, settledByCode } from './second-factor.ts'

/** What the kinds of devices are called in `amr` (RFC 8176; `email` and `rc` are ours). */
const method = { totp: 'otp', email: 'email', static: 'rc' } as const

/** What was shown, and whether it counts: docs/explanation/second-factors.md. */
interface Shown {
  type: DeviceType
  counts: boolean
}

/**
 * Follows up a second factor that was accepted in this transaction: the session is `aal2` if it counts, and with a
 * temporary token the sign-in it stands for is complete, once, which gives the grant of its pair; null where one that
 * counts is demanded and this does not, and then the token lives on. Everything is asked again that may have changed
 * since the password: person, membership, tenant. As the system role.
 */
export async function showSecondFactor(
  deps: Deps,
  tx: Tx,
  caller: Caller,
  shown: Shown,
  now: number,
): Promise<Grant | null> {
  if (caller.token === 'otp_pending') return completeSignIn(deps, tx, caller, shown, now)
  const { userId, sessionId } = caller
  if (!(await noteOnSession(tx, { sessionId, userId, shown, now }))) throw sessionRevoked()
  return null
}

async function completeSignIn(deps: Deps, tx: Tx, caller: Caller, shown: Shown, now: number) {
  const { userId, sessionId: pendingId, tokenTenantId, auth, requestInfo } = caller
  const place = (await listMembershipsOf(tx, userId)).find((p) => p.tenant_id === tokenTenantId)
  assertEnterable(place)
  const demanded = shown.type === 'email' || (await demandsOneThatCounts(deps, tx, userId, place, now))
  if (!shown.counts && demanded) return null
  const pending = await completePendingSession(tx, { id: pendingId, userId, at: now })
  if (!pending) throw tokenNotValid()
  if (pending.session_id !== null) return enter(deps, tx, caller, place, pending.session_id, shown, now)
  const amr = shown.counts ? ['pwd', method[shown.type], 'mfa'] : ['pwd', method[shown.type]]
  const { email } = auth.user
  const secondFactorAt = shown.counts ? now : null
  const settled = settledByCode(shown.type)
  const opening = { userId, email, place, amr, authTime: pending.auth_time, secondFactorAt, settled }
  const grant = await openSession(deps, tx, opening, requestInfo, now)
  await moveShown(tx, { userId, pendingId, sessionId: grant.entitled.sessionId })
  return grant
}

const noteOnSession = (
  tx: Tx,
  { sessionId: id, userId, shown, now: at }: { sessionId: string; userId: string; shown: Shown; now: number },
) => (shown.counts ? raiseSession : noteFactor)(tx, { id, userId, kind: method[shown.type], at })

/** A session enters a tenant that demanded a second factor when it was asked for. */
async function enter(
  deps: Deps,
  tx: Tx,
  caller: Caller,
  place: Membership,
  sessionId: string,
  shown: Shown,
  now: number,
): Promise<Grant> {
  const { userId, sessionId: pendingId, auth } = caller
  const noted = await noteOnSession(tx, { sessionId, userId, shown, now })
  if (!noted || isOverIn(place, noted.created_at)) throw tokenNotValid()
  await moveShown(tx, { userId, pendingId, sessionId })
  const { acr, amr, auth_time: authTime, expires_at: expiresAt } = noted
  const { tenant_id: tenantId, roles } = place
  await recordEntry(tx, { tenantId, userId, at: now })
  const { email } = auth.user
  const settled = settledByCode(shown.type)
  const whole = { sessionId, userId, email, tenantId, roles, acr, amr, authTime, expiresAt }
  return beginFamily(deps, tx, { ...whole, settled }, now)
}
