import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { listMembershipsOf, type Membership, recordEntry } from '../../tenancy/members/store.ts'
import { type Factors, findFactors } from '../otp/store.ts'
import { placeOf, recordSignIn } from '../rate-limits/record-sign-in.ts'
import { findSignInHistory } from '../rate-limits/store.ts'
import { recordRevoked } from '../sessions/end-session.ts'
import { endOldestSessions, insertSession } from '../sessions/store.ts'
import { chooseTenant } from './choose-tenant.ts'
import { createOwnTenantOnceADay, type Person } from './create-own-tenant.ts'
import {
  amrOf,
  connectionIn,
  type FirstFactor,
  holdFirstFactor,
  recordFirstFactor,
  shownAt,
  upstreamMfaAt,
  useFirstFactor,
} from './first-factor.ts'
import { acrOf, beginFamily, type CheckedSession, type Grant } from './issue-tokens.ts'
import {
  type FactorDue,
  notShown,
  type Opened,
  type Refused,
  refused,
  type SignInOutcome,
} from './outcome.ts'
import { recordBrokenGlass } from './record-broken-glass.ts'
import { checkSecondFactor, type Entry, openChallenge } from './second-factor.ts'
import { checkWay } from './way-in.ts'

// One sign-in. Each way in shows a first factor and comes here; each way out gives the outcome the form of its client.
//
//   first factor shown  a password (login.ts), a mailed link, a passkey, the password of an invited person
//   tenant chosen       the one that they named, else the one they entered last, else one made for them
//   second factor due   the sign-in waits in pending_sessions; complete-sign-in.ts goes on when a factor is shown
//   or settled          a session opens in the tenant, with its first chain of refresh tokens
//
// A session that is open asks a tenant the same questions again when it refreshes or switches: continue-session.ts.

interface SignIn {
  person: Person
  factor: FirstFactor
  /** The tenant that the person named; null: the one that they entered last. */
  tenantId: string | null
  requestInfo: RequestInfo
}

/**
 * Signs in a person who has just shown a first factor. One without a tenant gets one of their own first, once a day.
 * Refuses with 403 for a tenant that they cannot enter, and with `channel_disabled` if a second factor is due and they
 * have no way to show one. `not_shown`: the factor is not valid any more.
 */
export async function signIn(deps: Deps, asked: SignIn): Promise<SignInOutcome> {
  const outcome = await signInOnce(deps, asked)
  if (outcome.kind !== 'no_tenant') return outcome
  const made = await createOwnTenantOnceADay(deps, asked.person, asked.requestInfo)
  const again = await signInOnce(deps, asked, made)
  return again.kind === 'no_tenant' ? refused(noTenantLeft()) : again
}

/** `made`: the tenant that was made for the person, or null if none could be; without it `no_tenant` writes nothing. */
async function signInOnce(
  deps: Deps,
  { person, factor, tenantId, requestInfo }: SignIn,
  made?: string | null,
): Promise<SignInOutcome | { kind: 'no_tenant' }> {
  const { id: userId } = person
  const now = deps.clock()
  return asSystem(deps.db, 'a session begins before its tenant is known', async (tx) => {
    // One round trip. The lock goes first, so that the rest is read behind it.
    const [isHeld, factors, memberships, history] = await Promise.all([
      holdFirstFactor(tx, person, factor),
      findFactors(tx, userId, now),
      listMembershipsOf(tx, userId),
      readSignInHistory(tx, userId, requestInfo),
    ])
    if (!isHeld || !factors) return notShown
    const chosen = chooseTenant(memberships, { tenantId: connectionIn(factor)?.tenantId ?? tenantId, made })
    if (chosen.kind === 'no_tenant' && made === undefined) return chosen
    if (!(await useFirstFactor(tx, userId, factor, now))) return notShown
    if (chosen.kind !== 'chosen') return chosen
    const entering = { person, factor, membership: chosen.membership, factors, history }
    return enter(deps, tx, entering, requestInfo, now)
  })
}

interface Entering {
  person: Person
  factor: FirstFactor
  membership: Membership
  factors: Factors
  history: SignInHistory
}

/** Opens a session in the tenant, or a wait for the second factor that is due. */
async function enter(
  deps: Deps,
  tx: Tx,
  { person, factor, membership, factors, history }: Entering,
  requestInfo: RequestInfo,
  now: number,
): Promise<Opened | FactorDue | Refused> {
  const { id: userId, email } = person
  const { tenant_id: tenantId, requires_mfa: tenantRequires } = membership
  const connection = connectionIn(factor)
  const amr = amrOf[factor.kind]
  const authTime = shownAt(factor, now)
  const way = await checkWay(deps, tx, { userId, connection, membership, amr })
  if (way.kind === 'refused') return way
  const { trustsMfa, breaksGlass } = way.proof
  const isSecond = factor.kind === 'passkey' && factor.counts
  const mfaAt = isSecond ? now : trustsMfa ? upstreamMfaAt(factor) : null
  const secondFactor = mfaAt !== null ? 'counting' : factor.kind === 'passkey' ? 'not_counting' : 'none'
  const entry: Entry = {
    userId,
    tenantId,
    tenantRequires: tenantRequires || breaksGlass,
    session: null,
    amr,
    secondFactor,
    authTime,
    connection,
  }
  const second = checkSecondFactor(deps, entry, factors)
  if (second.kind === 'refused') return second
  if (second.kind === 'factor_due') {
    const challenge = await openChallenge(deps, tx, second, now)
    await recordFirstFactor(tx, userId, factor, challenge.pendingId)
    return { kind: 'factor_due', challenge }
  }
  const shown = { amr: mfaAt === null ? amr : [...amr, 'mfa'], secondFactorAt: mfaAt }
  const proofs = { way: way.proof, settled: second.proof }
  const opening = { userId, email, membership, ...shown, authTime, connection, ...proofs, history }
  const grant = await openSession(deps, tx, opening, requestInfo, now)
  await recordFirstFactor(tx, userId, factor, grant.familyId)
  return { kind: 'opened', grant }
}

const noTenantLeft = () =>
  new ApiError(
    403,
    'no_active_membership',
    'You belong to no tenant, and one was created for you in the last 24 hours. Reset your password, accept an invitation, or sign in again later.',
  )

// Without a limit, a person who knows the password could open more sessions than one request can end.
const maxSessions = 1_000

interface Opening extends Omit<CheckedSession, 'sessionId' | 'tenantId' | 'roles' | 'expiresAt'> {
  membership: Membership
  history: SignInHistory
}

/** What a person's earlier sign-ins mean for the next one. */
interface SignInHistory {
  /** The address and device are those of an earlier sign-in. */
  isKnownPlace: boolean
  hasMaxSessions: boolean
}

/** Reads the history before the sign-in writes, so that all its writes go out with the commit. As the system role. */
export const readSignInHistory = (tx: Tx, userId: string, requestInfo: RequestInfo): Promise<SignInHistory> =>
  findSignInHistory(tx, { userId, maxSessions, ...placeOf(requestInfo) })

/** Opens a session in a tenant that its person can enter: the row, the event, the first chain. As the system role. */
export async function openSession(
  deps: Deps,
  tx: Tx,
  { membership, history, ...checked }: Opening,
  requestInfo: RequestInfo,
  now: number,
): Promise<Grant> {
  const { userId, email } = checked
  const { tenant_id: tenantId, roles } = membership
  const sessionId = timeOrderedId(now)
  const expiresAt = now + deps.config.REFRESH_TOKEN_ABSOLUTE_VALIDITY_SECONDS * 1000
  const session = { ...checked, sessionId, tenantId, roles, expiresAt }
  const { userAgent, ip, requestId } = requestInfo
  await insertSession(tx, { ...session, id: sessionId, acr: acrOf(session), at: now, userAgent, ip })
  if (history.hasMaxSessions) {
    const sessionIds = await endOldestSessions(tx, { userId, ofGrants: false, kept: maxSessions, at: now })
    await recordRevoked(tx, { userId, sessionIds, tenantId, requestId, at: now })
  }
  if (checked.way.breaksGlass)
    await recordBrokenGlass(deps, tx, {
      user: { id: userId, email },
      sessionId,
      membership,
      requestInfo,
      at: now,
    })
  const { isKnownPlace } = history
  await recordSignIn(deps, tx, { userId, tenantId, requestInfo, isKnownPlace, at: now })
  await recordEntry(tx, { tenantId, userId, at: now })
  const data = { user_id: userId, session_id: sessionId }
  const type = 'identity.login_succeeded'
  await appendEvent(tx, { type, tenantId, subject: userId, data, actorId: userId, requestId, at: now })
  await appendAudit(tx, {
    tenantId,
    actor: { id: userId, email },
    requestInfo,
    action: 'session:create',
    target: { type: 'session', id: sessionId },
    at: now,
  })
  return beginFamily(deps, tx, session, now)
}
