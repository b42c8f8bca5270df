import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, sessionRevoked, tokenNotValid } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { listMembershipsOf, type Membership } from '../../tenancy/members/store.ts'
import { type Factors, findFactors } from '../otp/factor-store.ts'
import { refreshUses } from '../rate-limits/limits.ts'
import { type FamilyRow, findFamily, findRecentRotations } from '../sessions/family-store.ts'
import { endSession, findSession, lockSession, type SessionRow, touchSession } from '../sessions/store.ts'
import { chainOf } from './chain-of.ts'
import { enterable, isOverIn } from './enter-tenant.ts'
import {
  advanceFamily,
  type Entitled,
  type Grant,
  isLive,
  issueTokens,
  liveGrant,
  type TokenPair,
} from './issue-tokens.ts'
import {
  dueFactor,
  type FactorDue,
  isChallenge,
  isFactorDue,
  openChallenge,
  otpRequired,
  signChallenge,
} from './second-factor.ts'

/** What a refresh token says. */
export interface Presented {
  familyId: string
  generation: number
  jti: string
  sessionId: string
  userId: string
}

/**
 * Exchanges a refresh token for its successor (RFC 9700 §4.14.2). Parallel uses all get the same successor; a use after
 * the grace time ends the session, since the service cannot distinguish the owner from a thief. Refusals are values
 * inside the transaction, so that the end of the session is committed.
 */
export async function refresh(deps: Deps, requestInfo: RequestInfo, token: string): Promise<TokenPair> {
  const now = deps.clock()
  const presented = await readToken(deps, token, now)
  await deps.limiters.take(refreshUses(presented.sessionId))
  const rotates = deps.config.REFRESH_TOKEN_ROTATION
  const outcome = await asSystem(deps.db, 'the tenant is known once the token is checked', async (tx) => {
    // One round trip. The lock goes first, so that the chain is read behind it and cannot advance until the commit.
    const [locked, found, standing] = await Promise.all([
      rotates && lockSession(tx, { id: presented.sessionId, at: now }),
      findLive(tx, presented, now),
      readStanding(tx, presented.userId, now),
    ])
    if (found instanceof ApiError) return found
    const { family, session } = found
    if (family.user_id !== presented.userId) return sessionRevoked()
    const entitled = entitlement(deps, { family, session, standing })
    if (entitled instanceof ApiError) return entitled
    if (isFactorDue(entitled))
      return isLive(family, presented)
        ? openChallenge(deps, tx, entitled, now)
        : judgeReplay(deps, tx, { presented, entitled: null, requestInfo, now })
    if (!rotates) return keepToken(deps, presented, family, entitled)
    if (!locked) return sessionRevoked()
    if (!isLive(family, presented)) return judgeReplay(deps, tx, { presented, entitled, requestInfo, now })
    await touchSession(tx, { id: session.id, at: now, ip: requestInfo.ip, userAgent: requestInfo.userAgent })
    return advanceFamily(deps, tx, family, entitled, now)
  })
  if (outcome instanceof ApiError) throw outcome
  if (isChallenge(outcome)) throw otpRequired(await signChallenge(deps, outcome, now))
  return issueTokens(deps, outcome, now)
}

/** Throws 401 `token_not_valid` for a token that is no refresh token of this service. */
export async function readToken({ signer }: Deps, token: string, now: number): Promise<Presented> {
  const { fid, gen, jti, sid, sub } = await signer.verify('refresh', token, now)
  return { familyId: fid, generation: gen, jti, sessionId: sid, userId: sub }
}

/** The chain and its session, or why one of them is over. As the system role. */
export async function findLive(
  tx: Tx,
  presented: Pick<Presented, 'familyId' | 'sessionId'>,
  now: number,
): Promise<{ family: FamilyRow; session: SessionRow } | ApiError> {
  const [family, session] = await Promise.all([
    findFamily(tx, presented.familyId),
    findSession(tx, presented.sessionId, now),
  ])
  if (
    !family ||
    !session ||
    family.session_id !== session.id ||
    family.ended ||
    session.over ||
    !session.is_active
  )
    return sessionRevoked()
  if (family.expires_at <= now) return tokenNotValid()
  return { family, session }
}

/** What decides whether a person may go on in a tenant. */
export interface Standing {
  memberships: readonly Membership[]
  /** null for an erased person */
  factors: Factors | null
}

/** Asks for both together. As the system role. */
export async function readStanding(tx: Tx, userId: string, now: number): Promise<Standing> {
  const [memberships, factors] = await Promise.all([
    listMembershipsOf(tx, userId),
    findFactors(tx, userId, now),
  ])
  return { memberships, factors }
}

/**
 * Judges roles, membership and tenant as they are now, so that a removal, a demotion or a tenant's new demand for a
 * second factor takes effect at the next refresh.
 */
export function entitlement(
  deps: Pick<Deps, 'config'>,
  { family, session, standing }: { family: FamilyRow; session: SessionRow; standing: Standing },
): Entitled | FactorDue | ApiError {
  const { user_id: userId, tenant_id: tenantId } = family
  const { id: sessionId, email, auth_time: authTime } = session
  const { amr, secondFactorAt, endsAt } = chainOf(family, session)
  const found = standing.memberships.find((membership) => membership.tenant_id === tenantId)
  if (found && isOverIn(found, session.created_at)) return sessionRevoked()
  const membership = enterable(found)
  if (membership instanceof ApiError) return membership
  const tenantRequires = membership.requires_mfa
  const entry = {
    userId,
    tenantId,
    tenantRequires,
    session: { id: sessionId, secondFactorAt, endsAt },
    amr,
    authTime,
  }
  if (!standing.factors) return sessionRevoked()
  const settled = dueFactor(deps, entry, standing.factors)
  if (settled instanceof ApiError || isFactorDue(settled)) return settled
  const { roles } = membership
  return {
    sessionId,
    userId,
    email,
    tenantId,
    roles,
    amr,
    authTime,
    secondFactorAt,
    expiresAt: endsAt,
    settled,
  }
}

/** Without rotation the live token stays in use. */
function keepToken(
  deps: Deps,
  presented: Presented,
  family: FamilyRow,
  entitled: Entitled,
): Grant | ApiError {
  const live = liveGrant(deps, family, entitled)
  return live?.jti === presented.jti ? live : tokenNotValid()
}

interface Replay {
  presented: Presented
  /** Null if a second factor is due, which forbids returning the successor. */
  entitled: Entitled | null
  requestInfo: RequestInfo
  now: number
}

/**
 * Handles a token that was already rotated. Within the grace time returns its successor while that is unused, else a
 * plain refusal. Later ends the session.
 */
async function judgeReplay(deps: Deps, tx: Tx, replay: Replay): Promise<Grant | ApiError> {
  const { presented, entitled, requestInfo, now } = replay
  const [family, rotations] = await Promise.all([
    findFamily(tx, presented.familyId),
    findRecentRotations(tx, presented.familyId),
  ])
  if (!family || family.ended) return sessionRevoked()
  const behind = family.generation - presented.generation
  const rotatedAt = rotations.at(-behind)
  const inGrace =
    behind > 0 &&
    rotatedAt !== undefined &&
    now - rotatedAt <= deps.config.REFRESH_TOKEN_REUSE_GRACE_SECONDS * 1000
  if (inGrace) return (entitled && behind === 1 ? liveGrant(deps, family, entitled) : null) ?? tokenNotValid()
  const { session_id: sessionId, user_id: userId, tenant_id: tenantId } = family
  if (!(await endSession(tx, { id: sessionId, userId, reason: 'replay', at: now }))) return sessionRevoked()
  await appendEvent(tx, {
    type: 'identity.session_compromised',
    tenantId,
    subject: userId,
    data: { user_id: userId, session_id: sessionId },
    actorId: null,
    requestId: requestInfo.requestId,
    at: now,
  })
  await appendAudit(tx, {
    tenantId,
    actor: null,
    requestInfo,
    action: 'session:compromise',
    target: { type: 'session', id: sessionId },
    at: now,
  })
  return sessionRevoked()
}
