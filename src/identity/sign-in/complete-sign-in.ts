import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { sessionRevoked, tokenNotValid } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import type { Caller } from '../../request/caller.ts'
import { listMembershipsOf, type Membership, recordEntry } from '../../tenancy/members/store.ts'
import type { DeviceType } from '../otp/channels.ts'
import { moveShown } from '../otp/store.ts'
import { recordFactor } from '../sessions/family-store.ts'
import { useSession } from '../sessions/store.ts'
import { addFamily } from './chains.ts'
import { isOverIn, membershipIn } from './choose-tenant.ts'
import type { CheckedSession, Grant } from './issue-tokens.ts'
import { type Opened, orThrow, type Renewed, renewed } from './outcome.ts'
import { completePendingSession } from './pending-store.ts'
import { recordBrokenGlass } from './record-broken-glass.ts'
import { demandsCountingFactor, settledByFactor } from './second-factor.ts'
import { openSession, readSignInHistory } from './sign-in.ts'
import { checkWay } from './way-in.ts'
import { holdConnection } from './way-store.ts'

/** The `amr` value of each kind of device (RFC 8176; `email` and `rc` are our own). */
const method = { passkey: 'pop', totp: 'otp', email: 'email', static: 'rc' } as const

/** The factor that the person showed, and whether it counts: docs/explanation/second-factors.md. */
interface Shown {
  type: DeviceType
  counts: boolean
}

/**
 * Applies a second factor that this transaction accepted: raises the chain of the token to `aal2` if the factor counts. With a
 * temporary token it completes the sign-in, once; but the temporary token stays valid if a factor that counts is demanded
 * and this one does not. Checks person, membership and tenant again, since they can have changed after the first factor.
 * Refusals are thrown, so that the used code is rolled back. As the system role.
 */
export async function applySecondFactor(
  deps: Deps,
  tx: Tx,
  caller: Caller,
  shown: Shown,
  now: number,
): Promise<Opened | Renewed> {
  if (caller.token === 'otp_pending') return completeSignIn(deps, tx, caller, shown, now)
  const { userId, sessionId, familyId } = caller
  if (familyId === null)
    throw tokenNotValid('This token is of an earlier release. Refresh it, then show your factor.')
  const { type, counts } = shown
  const factor = { familyId, sessionId, userId, kind: method[type], counts, at: now }
  if (!(await recordFactor(tx, factor))) throw sessionRevoked()
  return renewed
}

async function completeSignIn(
  deps: Deps,
  tx: Tx,
  caller: Caller,
  shown: Shown,
  now: number,
): Promise<Opened | Renewed> {
  const { userId, sessionId: pendingId, tokenTenantId, auth, requestInfo } = caller
  const { connection } = auth.session
  if (connection) holdConnection(tx, connection)
  const [memberships, history] = await Promise.all([
    listMembershipsOf(tx, userId),
    readSignInHistory(tx, userId, requestInfo),
  ])
  const { membership } = orThrow(membershipIn(memberships, tokenTenantId))
  const demanded = shown.type === 'email' || (await demandsCountingFactor(deps, tx, userId, membership, now))
  if (!shown.counts && demanded) return renewed
  const pending = await completePendingSession(tx, { id: pendingId, userId, at: now })
  if (!pending) throw tokenNotValid()
  const { proof: way } = orThrow(
    await checkWay(deps, tx, { userId, connection, membership, amr: pending.amr }),
  )
  const factors = new Set([...pending.amr, method[shown.type]])
  const checked = {
    userId,
    email: auth.user.email,
    amr: shown.counts ? [...factors, 'mfa'] : [...factors],
    authTime: pending.auth_time,
    secondFactorAt: shown.counts ? now : null,
    connection,
    way,
    settled: settledByFactor(shown.type),
  }
  const { session_id: sessionId, chain_ends_at: endsAt } = pending
  const grant =
    sessionId === null
      ? await openSession(deps, tx, { ...checked, membership, history }, requestInfo, now)
      : await enter(deps, tx, { ...checked, sessionId, endsAt, membership }, requestInfo, now)
  await moveShown(tx, { userId, pendingId, familyId: grant.familyId })
  return { kind: 'opened', grant }
}

interface Entering extends Omit<CheckedSession, 'tenantId' | 'roles' | 'expiresAt'> {
  /** The absolute end of the chain; null for that of its session. */
  endsAt: number | null
  membership: Membership
}

/** Lets a session enter a tenant that demanded a second factor, with a chain that showed it. */
async function enter(
  deps: Deps,
  tx: Tx,
  { membership, endsAt, ...checked }: Entering,
  requestInfo: RequestInfo,
  now: number,
): Promise<Grant> {
  const { sessionId, userId } = checked
  const session = await useSession(tx, { sessionId, userId, at: now })
  if (!session || isOverIn(membership, session.created_at)) throw tokenNotValid()
  const { auth_time: authTime, expires_at: sessionEndsAt } = session
  const expiresAt = Math.min(endsAt ?? sessionEndsAt, sessionEndsAt)
  const { tenant_id: tenantId, roles } = membership
  await recordEntry(tx, { tenantId, userId, at: now })
  const user = { id: userId, email: checked.email }
  if (checked.way.breaksGlass)
    await recordBrokenGlass(deps, tx, { user, sessionId, membership, requestInfo, at: now })
  return addFamily(deps, tx, { ...checked, tenantId, roles, authTime, expiresAt }, now)
}
