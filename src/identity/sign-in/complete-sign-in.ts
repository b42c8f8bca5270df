import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, sessionRevoked, tokenNotValid } from '../../errors.ts'
import type { Caller } from '../../request/caller.ts'
import { listMembershipsOf, type Membership, recordEntry } from '../../tenancy/members/store.ts'
import type { DeviceType } from '../otp/channels.ts'
import { moveShown } from '../otp/factor-store.ts'
import { recordFactor } from '../sessions/family-store.ts'
import { completePendingSession, useSession } from '../sessions/store.ts'
import { enterable, isOverIn } from './enter-tenant.ts'
import { addFamily, type Entitled, type Grant } from './issue-tokens.ts'
import { openSession, readSignInHistory } from './open-session.ts'
import { demandsCountingFactor, settledByFactor } from './second-factor.ts'

/** The `amr` value of each kind of device (RFC 8176; `email` and `rc` are our own). */
const method = { passkey: 'pop', totp: 'otp', email: 'email', static: 'rc' } as const

/** The factor that the person showed, and whether it counts: docs/explanation/second-factors.md. */
interface Shown {
  type: DeviceType
  counts: boolean
}

/**
 * Applies a second factor that this transaction accepted: raises the chain of the token to `aal2` if the factor counts. With a
 * temporary token it completes the sign-in, once, and returns the grant of its tokens; null, and the temporary token
 * stays valid, if a factor that counts is demanded and this one does not. Checks person, membership and tenant again,
 * since they can have changed after the password. Refusals are thrown, so that the used code is rolled back. As the
 * system role.
 */
export async function applySecondFactor(
  deps: Deps,
  tx: Tx,
  caller: Caller,
  shown: Shown,
  now: number,
): Promise<Grant | null> {
  if (caller.token === 'otp_pending') return completeSignIn(deps, tx, caller, shown, now)
  const { userId, sessionId, familyId } = caller
  if (familyId === null)
    throw tokenNotValid('This token is of an earlier release. Refresh it, then show your factor.')
  const { type, counts } = shown
  const factor = { familyId, sessionId, userId, kind: method[type], counts, at: now }
  if (!(await recordFactor(tx, factor))) throw sessionRevoked()
  return null
}

interface Entering extends Pick<Entitled, 'email' | 'sessionId' | 'amr' | 'secondFactorAt' | 'settled'> {
  /** The absolute end of the chain; null for that of its session. */
  endsAt: number | null
}

async function completeSignIn(deps: Deps, tx: Tx, caller: Caller, shown: Shown, now: number) {
  const { userId, sessionId: pendingId, tokenTenantId, auth, requestInfo } = caller
  const [memberships, history] = await Promise.all([
    listMembershipsOf(tx, userId),
    readSignInHistory(tx, userId, requestInfo),
  ])
  const membership = enterable(memberships.find((found) => found.tenant_id === tokenTenantId))
  if (membership instanceof ApiError) throw membership
  const demanded = shown.type === 'email' || (await demandsCountingFactor(deps, tx, userId, membership, now))
  if (!shown.counts && demanded) return null
  const pending = await completePendingSession(tx, { id: pendingId, userId, at: now })
  if (!pending) throw tokenNotValid()
  const factors = new Set([...pending.amr, method[shown.type]])
  const amr = shown.counts ? [...factors, 'mfa'] : [...factors]
  const { email } = auth.user
  const secondFactorAt = shown.counts ? now : null
  const settled = settledByFactor(shown.type)
  const { session_id: sessionId, chain_ends_at: endsAt } = pending
  if (sessionId !== null) {
    const chain = { email, sessionId, amr, secondFactorAt, endsAt, settled }
    return enter(deps, tx, caller, membership, chain, now)
  }
  const opening = {
    userId,
    email,
    membership,
    amr,
    authTime: pending.auth_time,
    secondFactorAt,
    settled,
    history,
  }
  const grant = await openSession(deps, tx, opening, requestInfo, now)
  await moveShown(tx, { userId, pendingId, familyId: grant.familyId })
  return grant
}

/** Lets a session enter a tenant that demanded a second factor, with a chain that showed it. */
async function enter(
  deps: Deps,
  tx: Tx,
  { userId, sessionId: pendingId }: Caller,
  membership: Membership,
  { sessionId, endsAt, ...chain }: Entering,
  now: number,
): Promise<Grant> {
  const session = await useSession(tx, { sessionId, userId, at: now })
  if (!session || isOverIn(membership, session.created_at)) throw tokenNotValid()
  const { auth_time: authTime } = session
  const expiresAt = Math.min(endsAt ?? session.expires_at, session.expires_at)
  const { tenant_id: tenantId, roles } = membership
  await recordEntry(tx, { tenantId, userId, at: now })
  const entitled = { ...chain, sessionId, userId, tenantId, roles, authTime, expiresAt }
  const grant = await addFamily(deps, tx, entitled, now)
  await moveShown(tx, { userId, pendingId, familyId: grant.familyId })
  return grant
}
