import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, sessionRevoked } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { lockSession, touchSession } from '../sessions/store.ts'
import { type Grant, renewFamily } from './issue-tokens.ts'
import { entitlement, findLive, readStanding } from './refresh.ts'
import { type Challenge, type FactorDue, isFactorDue, openChallenge } from './second-factor.ts'

/**
 * The check of a refresh, for a client whose tokens stay in the service: reads session, membership and tenant again and
 * advances the chain. Returns the reason if the session or its place in the tenant is over, and the challenge if the
 * tenant now demands a second factor. `opens: false`: a challenge for this tenant waits already, whose mailed code a new
 * one would end; then no other is opened.
 */
export function renewEntry(
  deps: Deps,
  { ip, userAgent }: RequestInfo,
  entry: { familyId: string; sessionId: string },
  { opens }: { opens: boolean },
): Promise<Grant | Challenge | FactorDue | ApiError> {
  const now = deps.clock()
  const { sessionId } = entry
  return asSystem(deps.db, 'the tenant is known once the chain is read', async (tx) => {
    const [locked, found] = await Promise.all([
      lockSession(tx, { id: sessionId, at: now }),
      findLive(tx, entry, now),
    ])
    if (found instanceof ApiError) return found
    const standing = await readStanding(tx, found.family.user_id, now)
    const entitled = entitlement(deps, { ...found, standing })
    if (entitled instanceof ApiError) return entitled
    if (isFactorDue(entitled)) return opens ? openChallenge(deps, tx, entitled, now) : entitled
    if (!locked) return sessionRevoked()
    const renewed = await renewFamily(deps, tx, found.family, entitled, now)
    if (!renewed) return sessionRevoked()
    await touchSession(tx, { id: sessionId, at: now, ip, userAgent })
    return renewed
  })
}
