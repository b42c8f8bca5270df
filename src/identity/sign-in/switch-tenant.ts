import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, sessionRevoked, tokenNotValid } from '../../errors.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import { earliestId } from '../../messages/outbox/time-ordered-id.ts'
import { sessionsEnded } from '../../request/authenticate.ts'
import type { Caller } from '../../request/caller.ts'
import { recordEntry } from '../../tenancy/members/store.ts'
import { findFamily } from '../sessions/family-store.ts'
import { findSession, lockSession } from '../sessions/store.ts'
import { chainOf } from './chain-of.ts'
import { enterable, isOverIn } from './enter-tenant.ts'
import { addFamily, type Grant, isShown, issueTokens, renewFamily, type TokenPair } from './issue-tokens.ts'
import { type Presented, readStanding, readToken } from './refresh.ts'
import {
  type Challenge,
  checkSecondFactor,
  isChallenge,
  otpRequired,
  signChallenge,
} from './second-factor.ts'

interface Switch {
  tenantId: string
  /** The live refresh token of the caller's chain. */
  refresh?: string | undefined
}

/**
 * New tokens for another tenant under the same session; the old tokens remain valid for their own tenant. With the live
 * refresh token of the caller's chain, the new chain can last as long as that one; for the tenant of the caller's token, the
 * new tokens then replace the old ones. Without it a new chain ends after REFRESH_TOKEN_SWITCHED_VALIDITY_SECONDS, because an
 * access token is shown to applications, and a copy of one must not become a session of weeks. 403 `no_active_membership` both for an unknown tenant and for one
 * that the caller does not belong to; 401 `token_not_valid` for any other refresh token, 401 `otp_required` with a
 * temporary token if the tenant requires a second factor that the chain has not shown.
 */
export async function switchTenant(deps: Deps, caller: Caller, asked: Switch): Promise<TokenPair> {
  const now = deps.clock()
  const { tenantId, refresh } = asked
  const presented = refresh === undefined ? null : await readToken(deps, refresh, now)
  if (presented && presented.familyId !== caller.familyId) throw notOwnToken()
  const outcome = await asSystem(deps.db, 'the target is not the tenant of the request', (tx) =>
    enter(deps, tx, caller, { tenantId, presented }, now),
  )
  if (outcome instanceof ApiError) throw outcome
  if (isChallenge(outcome)) throw otpRequired(await signChallenge(deps, outcome, now))
  return issueTokens(deps, outcome, now)
}

async function enter(
  deps: Deps,
  tx: Tx,
  caller: Caller,
  { tenantId, presented }: { tenantId: string; presented: Presented | null },
  now: number,
): Promise<Grant | Challenge | ApiError> {
  const { userId, sessionId, familyId } = caller
  // One round trip. The lock goes first, so that the chain is read behind it.
  const [locked, session, { memberships, factors }, family] = await Promise.all([
    lockSession(tx, { id: sessionId, at: now }),
    findSession(tx, sessionId, now),
    readStanding(tx, userId, now),
    familyId === null ? null : findFamily(tx, familyId),
  ])
  if (!locked || !session || session.over || !factors) return sessionRevoked()
  const lives = family?.session_id === sessionId && !family.ended && family.expires_at > now
  if (familyId !== null && !lives) return sessionRevoked()
  if (presented && !(family && isShown(deps, family, presented, now))) return notOwnToken()
  const membership = enterable(memberships.find((found) => found.tenant_id === tenantId))
  if (membership instanceof ApiError) return membership
  if (isOverIn(membership, session.created_at)) return sessionsEnded()
  const { email, auth_time: authTime } = session
  const { amr, secondFactorAt, endsAt } = chainOf(family, session)
  const showsChain = presented !== null || caller.byCookie === true
  if (!showsChain && isFromBefore(caller, family?.access_since ?? null)) return staleAccess()
  const expiresAt = showsChain ? endsAt : Math.min(endsAt, now + switchedMs(deps))
  const entry = {
    userId,
    tenantId,
    tenantRequires: membership.requires_mfa,
    session: { id: sessionId, secondFactorAt, endsAt: expiresAt },
    amr,
    authTime,
  }
  const settled = await checkSecondFactor(deps, tx, entry, factors, now)
  if (settled instanceof ApiError || isChallenge(settled)) return settled
  await recordEntry(tx, { tenantId, userId, at: now })
  const target = { type: 'session', id: sessionId } as const
  await appendAudit(tx, { ...doneBy(caller, now), tenantId, action: 'session:switch', target })
  const { roles } = membership
  const shown = { amr, authTime, secondFactorAt, expiresAt, settled }
  const entitled = { sessionId, userId, email, tenantId, roles, ...shown }
  const renewed = showsChain && family ? await renewFamily(deps, tx, family, entitled, now) : null
  return renewed ?? addFamily(deps, tx, entitled, now)
}

const switchedMs = ({ config }: Deps) => config.REFRESH_TOKEN_SWITCHED_VALIDITY_SECONDS * 1000

/** Whether the caller's access token was issued at `since` (ms since 1970) or before: its id begins with its time. */
const isFromBefore = ({ jti }: Caller, since: number | null) => since !== null && jti < earliestId(since + 1)

const staleAccess = () =>
  tokenNotValid('This access token is from before a change of the password. Refresh it, or send `refresh`.')

const notOwnToken = () =>
  tokenNotValid('`refresh` must be the newest refresh token that came with your access token or after it.')
