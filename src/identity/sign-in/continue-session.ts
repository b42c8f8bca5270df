import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { sessionRevoked, tokenNotValid } from '../../errors.ts'
import { listMembershipsOf, type Membership } from '../../tenancy/members/store.ts'
import { type Factors, findFactors } from '../otp/store.ts'
import { isCounting } from '../sessions/counting-factor.ts'
import { type FamilyRow, findFamily } from '../sessions/family-store.ts'
import { connectionOf, findSession, type SessionRow } from '../sessions/store.ts'
import { type Chain, chainOf } from './chains.ts'
import { isOverIn, membershipIn } from './choose-tenant.ts'
import type { CheckedSession } from './issue-tokens.ts'
import { type Refused, refused } from './outcome.ts'
import { checkSecondFactor, type SecondFactor } from './second-factor.ts'
import { checkWay } from './way-in.ts'

// What a session that is open must meet before it gets tokens again: at each refresh, at a switch to another tenant, and
// when the console's cookie is checked. Roles, membership, tenant and factors are judged as they are now, so that a
// removal, a demotion or a tenant's new demand takes effect at the next one.

/** A chain of refresh tokens and its session, both still valid. */
export interface LiveChain {
  kind: 'live'
  family: FamilyRow
  session: SessionRow
}

/** The chain and its session, or why one of them is over. As the system role. */
export async function findLiveChain(
  tx: Tx,
  { familyId, sessionId }: { familyId: string; sessionId: string },
  now: number,
): Promise<LiveChain | Refused> {
  const [family, session] = await Promise.all([findFamily(tx, familyId), findSession(tx, sessionId, now)])
  if (
    !family ||
    !session ||
    family.session_id !== session.id ||
    family.ended ||
    session.over ||
    !session.is_active
  )
    return refused(sessionRevoked())
  if (family.expires_at <= now) return refused(tokenNotValid())
  return { kind: 'live', family, session }
}

/** What decides whether a person may go on in a tenant. */
export interface Eligibility {
  memberships: readonly Membership[]
  /** null for an erased person */
  factors: Factors | null
}

/** Asks for both together. As the system role. */
export async function readEligibility(tx: Tx, userId: string, now: number): Promise<Eligibility> {
  const [memberships, factors] = await Promise.all([
    listMembershipsOf(tx, userId),
    findFactors(tx, userId, now),
  ])
  return { memberships, factors }
}

/** The session may have tokens, or has to show a second factor first, or may not go on. */
export type Checked =
  | { kind: 'checked'; session: CheckedSession }
  | Exclude<SecondFactor, { kind: 'settled' }>

/** Whether a chain may go on in its own tenant. */
export async function checkChain(
  deps: WayDeps,
  tx: Tx,
  { family, session }: LiveChain,
  { memberships, factors }: Eligibility,
): Promise<Checked> {
  const { tenant_id: tenantId, user_id: userId } = family
  const found = memberships.find((membership) => membership.tenant_id === tenantId)
  if (found && isOverIn(found, session.created_at)) return refused(sessionRevoked())
  const chosen = membershipIn(memberships, tenantId)
  if (chosen.kind === 'refused') return chosen
  if (!factors) return refused(sessionRevoked())
  return checkEntry(deps, tx, {
    userId,
    session,
    chain: chainOf(family, session),
    membership: chosen.membership,
    factors,
  })
}

type WayDeps = Pick<Deps, 'config' | 'publicUrl' | 'clock'>

interface Entering {
  userId: string
  session: SessionRow
  /** What was shown for the tokens so far, and when the new ones end at the latest. */
  chain: Chain
  /** By which the person can enter. */
  membership: Membership
  factors: Factors
}

/** Whether a session may enter a tenant, or stay in it, with what it has shown. */
export async function checkEntry(
  deps: WayDeps,
  tx: Tx,
  { userId, session, chain, membership, factors }: Entering,
): Promise<Checked> {
  const { id: sessionId, email, auth_time: authTime } = session
  const { tenant_id: tenantId, requires_mfa: tenantRequires, roles } = membership
  const connection = connectionOf(session)
  const { amr, endsAt } = chain
  const way = await checkWay(deps, tx, { userId, connection, membership, amr })
  if (way.kind === 'refused') return way
  const secondFactorAt = isCounting(amr, { isOwner: membership.is_owner }) ? chain.secondFactorAt : null
  const second = checkSecondFactor(
    deps,
    {
      userId,
      tenantId,
      tenantRequires: tenantRequires || way.proof.breaksGlass,
      session: { id: sessionId, endsAt },
      amr,
      secondFactor: secondFactorAt === null ? 'none' : 'counting',
      authTime,
      connection,
    },
    factors,
  )
  if (second.kind !== 'settled') return second
  const checked = { sessionId, userId, email, tenantId, roles, amr, authTime, secondFactorAt, connection }
  return {
    kind: 'checked',
    session: { ...checked, expiresAt: endsAt, way: way.proof, settled: second.proof },
  }
}
