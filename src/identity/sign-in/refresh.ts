import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { sessionRevoked, tokenNotValid } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { refreshUses } from '../rate-limits/limits.ts'
import { findFamily, findRecentRotations } from '../sessions/family-store.ts'
import { endSession, lockSession, touchSession } from '../sessions/store.ts'
import { advanceFamily, isLive, liveGrant, type RefreshClaims, readRefreshToken } from './chains.ts'
import { checkChain, findLiveChain, readEligibility } from './continue-session.ts'
import type { CheckedSession } from './issue-tokens.ts'
import {
  type Continuation,
  type Continued,
  type FactorDue,
  orThrow,
  type Refused,
  refused,
} from './outcome.ts'
import { openChallenge } from './second-factor.ts'

/**
 * Exchanges a refresh token for its successor (RFC 9700 §4.14.2). Parallel uses all get the same successor; a use after
 * the grace time ends the session, since the service cannot distinguish the owner from a thief. Refusals are values
 * inside the transaction, so that the end of the session is committed.
 */
export async function refresh(
  deps: Deps,
  requestInfo: RequestInfo,
  token: string,
): Promise<Continued | FactorDue> {
  const now = deps.clock()
  const presented = await readRefreshToken(deps, token, now)
  await deps.limiters.take(refreshUses(presented.sessionId))
  const outcome = await asSystem(deps.db, 'the tenant is known once the token is checked', (tx) =>
    advance(deps, tx, presented, requestInfo, now),
  )
  return orThrow(outcome)
}

async function advance(
  deps: Deps,
  tx: Tx,
  presented: RefreshClaims,
  requestInfo: RequestInfo,
  now: number,
): Promise<Continuation> {
  const rotates = deps.config.REFRESH_TOKEN_ROTATION
  // One round trip. The lock goes first, so that the chain is read behind it and cannot advance until the commit.
  const [locked, found, eligibility] = await Promise.all([
    rotates && lockSession(tx, { id: presented.sessionId, at: now }),
    findLiveChain(tx, presented, now),
    readEligibility(tx, presented.userId, now),
  ])
  if (found.kind === 'refused') return found
  const { family } = found
  if (family.user_id !== presented.userId) return refused(sessionRevoked())
  const checked = await checkChain(deps, tx, found, eligibility)
  if (checked.kind === 'refused') return checked
  const live = isLive(family, presented)
  if (checked.kind === 'factor_due')
    return live
      ? { kind: 'factor_due', challenge: await openChallenge(deps, tx, checked, now) }
      : judgeReplay(deps, tx, { presented, session: null, requestInfo, now })
  const { session } = checked
  if (!rotates) {
    // Without rotation the live token stays in use.
    const grant = liveGrant(deps, family, session, now)
    return grant?.jti === presented.jti ? { kind: 'continued', grant } : refused(tokenNotValid())
  }
  if (!locked) return refused(sessionRevoked())
  if (!live) return judgeReplay(deps, tx, { presented, session, requestInfo, now })
  const { ip, userAgent } = requestInfo
  await touchSession(tx, { id: session.sessionId, at: now, ip, userAgent })
  return { kind: 'continued', grant: await advanceFamily(deps, tx, family, session, now) }
}

interface Replay {
  presented: RefreshClaims
  /** Null if a second factor is due, which forbids returning the successor. */
  session: CheckedSession | null
  requestInfo: RequestInfo
  now: number
}

/**
 * Handles a token that was already rotated. Within the grace time returns its successor while that is unused, else a
 * plain refusal. Later ends the session.
 */
async function judgeReplay(deps: Deps, tx: Tx, replay: Replay): Promise<Continued | Refused> {
  const { presented, session, requestInfo, now } = replay
  const [family, rotations] = await Promise.all([
    findFamily(tx, presented.familyId),
    findRecentRotations(tx, presented.familyId),
  ])
  if (!family || family.ended) return refused(sessionRevoked())
  const behind = family.generation - presented.generation
  const rotatedAt = rotations.at(-behind)
  const inGrace =
    behind > 0 &&
    rotatedAt !== undefined &&
    now - rotatedAt <= deps.config.REFRESH_TOKEN_REUSE_GRACE_SECONDS * 1000
  if (inGrace) {
    const grant = session && behind === 1 ? liveGrant(deps, family, session, now) : null
    return grant ? { kind: 'continued', grant } : refused(tokenNotValid())
  }
  const { session_id: sessionId, user_id: userId, tenant_id: tenantId } = family
  if (await endSession(tx, { id: sessionId, userId, reason: 'replay', at: now })) {
    const data = { user_id: userId, session_id: sessionId }
    const { requestId } = requestInfo
    const type = 'identity.session_compromised'
    await appendEvent(tx, { type, tenantId, subject: userId, data, actorId: null, requestId, at: now })
    const target = { type: 'session', id: sessionId } as const
    const action = 'session:compromise'
    await appendAudit(tx, { tenantId, actor: null, requestInfo, action, target, at: now })
  }
  return refused(sessionRevoked())
}
