import type { Deps } from '../../deps.ts'
import { appendAudit } from '../../platform/audit/append-audit.ts'
import { asSystem, type Tx } from '../../platform/db/transaction.ts'
import { type ApiError, sessionRevoked, tokenNotValid } from '../../platform/errors.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { listMembershipsOf } from '../../tenancy/members/store.ts'
import { refreshUses } from '../rate-limits/limits.ts'
import { assertEnterable, isOverIn } from '../sessions/enter-tenant.ts'
import {
  advanceFamily,
  type Entitled,
  type Grant,
  isLive,
  issueTokens,
  liveGrant,
  type TokenPair,
} from '../sessions/issue-tokens.ts'
import {
  type FamilyRow,
  findFamily,
  findSession,
  lockSession,
  type SessionRow,
  touchSession,
} from '../sessions/refresh-store.ts'
import {
  type Challenge,
  isChallenge,
  otpRequired,
  settleSecondFactor,
  signChallenge,
} from '../sessions/second-factor.ts'
import { endSession } from '../sessions/store.ts'

interface Presented {
  familyId: string
  generation: number
  jti: string
  sessionId: string
}

/**
 * Answers the successor of a refresh token (RFC 9700 §4.14.2). Of parallel uses all get one and the same successor;
 * a use after the grace time ends the session, for the service cannot tell its owner from a thief.
 */
export async function refresh(deps: Deps, requestInfo: RequestInfo, token: string): Promise<TokenPair> {
  const now = deps.clock()
  const presented = await readToken(deps, token, now)
  await deps.limiters.take(refreshUses(presented.sessionId))
  const outcome = await asSystem(deps.db, 'the tenant is known once the token is checked', async (tx) => {
    const { family, session } = await findLive(tx, presented, now)
    const entitled = await entitlement(deps, tx, family, session, now)
    if (isChallenge(entitled))
      return isLive(family, presented)
        ? entitled
        : judgeReplay(deps, tx, { presented, entitled: null, requestInfo, now })
    if (!deps.config.REFRESH_TOKEN_ROTATION) return keepToken(deps, presented, family, entitled)
    if (!(await lockSession(tx, { id: session.id, at: now }))) return sessionRevoked()
    const advanced = await advanceFamily(deps, tx, presented, entitled, now)
    if (!advanced) return judgeReplay(deps, tx, { presented, entitled, requestInfo, now })
    await touchSession(tx, { id: session.id, at: now, ip: requestInfo.ip, userAgent: requestInfo.userAgent })
    return advanced
  })
  if (outcome instanceof Error) throw outcome
  if (isChallenge(outcome)) throw otpRequired(await signChallenge(deps, outcome, now))
  return issueTokens(deps, outcome, now)
}

async function readToken({ signer }: Deps, token: string, now: number): Promise<Presented> {
  const { fid, gen, jti, sid } = await signer.verify('refresh', token, now)
  return { familyId: fid, generation: gen, jti, sessionId: sid }
}

async function findLive(
  tx: Tx,
  presented: Presented,
  now: number,
): Promise<{ family: FamilyRow; session: SessionRow }> {
  const family = await findFamily(tx, presented.familyId)
  const session = await findSession(tx, presented.sessionId, now)
  if (
    !family ||
    !session ||
    family.session_id !== session.id ||
    family.ended ||
    session.over ||
    !session.is_active
  )
    throw sessionRevoked()
  if (family.expires_at <= now) throw tokenNotValid()
  return { family, session }
}

/**
 * Roles, membership and tenant are read again, so that a removal or demotion counts at the next refresh, and so does
 * a tenant's new demand for a second factor.
 */
async function entitlement(
  deps: Deps,
  tx: Tx,
  family: FamilyRow,
  session: SessionRow,
  now: number,
): Promise<Entitled | Challenge> {
  const { user_id: userId, tenant_id: tenantId } = family
  const { id: sessionId, email, acr, amr, auth_time: authTime, expires_at: expiresAt } = session
  const place = (await listMembershipsOf(tx, userId)).find((p) => p.tenant_id === tenantId)
  if (place && isOverIn(place, session.created_at)) throw sessionRevoked()
  assertEnterable(place)
  const tenantRequires = place.requires_mfa
  const entry = { userId, tenantId, tenantRequires, session: { id: sessionId, acr }, authTime }
  const settled = await settleSecondFactor(deps, tx, entry, now)
  if (isChallenge(settled)) return settled
  const { roles } = place
  return { sessionId, userId, email, tenantId, roles, acr, amr, authTime, expiresAt, settled }
}

/** Without rotation the token stays what it is, as long as it is the live one. */
function keepToken(
  deps: Deps,
  presented: Presented,
  family: FamilyRow,
  entitled: Entitled,
): Grant | ApiError {
  const live = liveGrant(deps, family, entitled)
  return live?.jti === presented.jti ? live : tokenNotValid()
}

/** `entitled` is null where the successor may not be answered, for a second factor is due. */
interface Replay {
  presented: Presented
  entitled: Entitled | null
  requestInfo: RequestInfo
  now: number
}

/**
 * The presented token was rotated before. Within the grace time: its successor while that is unused, else a plain
 * refusal. Later: the session ends. Refusals are values here, so that the end of the session is committed.
 */
async function judgeReplay(deps: Deps, tx: Tx, replay: Replay): Promise<Grant | ApiError> {
  const { presented, entitled, requestInfo, now } = replay
  const family = await findFamily(tx, presented.familyId)
  if (!family || family.ended) return sessionRevoked()
  const behind = family.generation - presented.generation
  const rotatedAt = family.recent_rotations.at(-behind)
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
