import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { sessionConfined, sessionRevoked, tokenNotValid } from '../../errors.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import { earliestId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { sessionsEnded } from '../../request/check-session.ts'
import { recordEntry } from '../../tenancy/members/store.ts'
import { findFamily } from '../sessions/family-store.ts'
import { connectionOf, findSession, lockSession } from '../sessions/store.ts'
import { addFamily, chainOf, isShown, type RefreshClaims, readRefreshToken, renewFamily } from './chains.ts'
import { isOverIn, membershipIn } from './choose-tenant.ts'
import { checkEntry, readEligibility } from './continue-session.ts'
import { type Continuation, type Continued, type FactorDue, orThrow, refused } from './outcome.ts'
import { recordBrokenGlass } from './record-broken-glass.ts'
import { openChallenge } from './second-factor.ts'

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
 * that the caller does not belong to; 401 `token_not_valid` for any other refresh token. A second factor is due if the
 * tenant requires one that the chain has not shown.
 */
export async function switchTenant(
  deps: Deps,
  caller: Caller,
  { tenantId, refresh }: Switch,
): Promise<Continued | FactorDue> {
  const now = deps.clock()
  const presented = refresh === undefined ? null : await readRefreshToken(deps, refresh, now)
  if (presented && presented.familyId !== caller.familyId) throw notOwnToken()
  const outcome = await asSystem(deps.db, 'the target is not the tenant of the request', (tx) =>
    enter(deps, tx, caller, { tenantId, presented }, now),
  )
  return orThrow(outcome)
}

async function enter(
  deps: Deps,
  tx: Tx,
  caller: Caller,
  { tenantId, presented }: { tenantId: string; presented: RefreshClaims | null },
  now: number,
): Promise<Continuation> {
  const { userId, sessionId, familyId } = caller
  // One round trip. The lock goes first, so that the chain is read behind it.
  const [locked, session, { memberships, factors }, family] = await Promise.all([
    lockSession(tx, { id: sessionId, at: now }),
    findSession(tx, sessionId, now),
    readEligibility(tx, userId, now),
    familyId === null ? null : findFamily(tx, familyId),
  ])
  if (!locked || !session || session.over || !factors) return refused(sessionRevoked())
  const lives = family?.session_id === sessionId && !family.ended && family.expires_at > now
  if (familyId !== null && !lives) return refused(sessionRevoked())
  if (presented && !(family && isShown(deps, family, presented, now))) return refused(notOwnToken())
  const connection = connectionOf(session)
  if (connection && connection.tenantId !== tenantId) return refused(sessionConfined(deps.publicUrl()))
  const chosen = membershipIn(memberships, tenantId)
  if (chosen.kind === 'refused') return chosen
  const { membership } = chosen
  if (isOverIn(membership, session.created_at)) return refused(sessionsEnded())
  const showsChain = presented !== null || caller.byCookie === true
  if (!showsChain && isFromBefore(caller, family?.access_since ?? null)) return refused(staleAccess())
  const own = chainOf(family, session)
  const chain = showsChain ? own : { ...own, endsAt: Math.min(own.endsAt, now + switchedMs(deps)) }
  const checked = await checkEntry(deps, tx, { userId, session, chain, membership, factors })
  if (checked.kind === 'refused') return checked
  if (checked.kind === 'factor_due')
    return { kind: 'factor_due', challenge: await openChallenge(deps, tx, checked, now) }
  await recordEntry(tx, { tenantId, userId, at: now })
  const target = { type: 'session', id: sessionId } as const
  await appendAudit(tx, { ...doneBy(caller, now), tenantId, action: 'session:switch', target })
  const renewed = showsChain && family ? await renewFamily(deps, tx, family, checked.session, now) : null
  if (renewed) return { kind: 'continued', grant: renewed }
  const { way, email } = checked.session
  if (way.breaksGlass) {
    const { requestInfo } = caller
    const user = { id: userId, email }
    await recordBrokenGlass(deps, tx, { user, sessionId, membership, requestInfo, at: now })
  }
  return { kind: 'continued', grant: await addFamily(deps, tx, checked.session, now) }
}

const switchedMs = ({ config }: Deps) => config.REFRESH_TOKEN_SWITCHED_VALIDITY_SECONDS * 1000

/** Whether the caller's access token was issued at `since` (ms since 1970) or before: its id begins with its time. */
const isFromBefore = ({ jti }: Caller, since: number | null) => since !== null && jti < earliestId(since + 1)

const staleAccess = () =>
  tokenNotValid('This access token is from before a change of the password. Refresh it, or send `refresh`.')

const notOwnToken = () =>
  tokenNotValid('`refresh` must be the newest refresh token that came with your access token or after it.')
