import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { sessionRevoked } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { lockSession, touchSession } from '../sessions/store.ts'
import { renewFamily } from './chains.ts'
import { checkChain, findLiveChain, readEligibility } from './continue-session.ts'
import { type Continuation, refused } from './outcome.ts'
import { type Challenge, openChallenge } from './second-factor.ts'

/** A second factor is due, and its challenge is open already. */
interface Waiting extends Pick<Challenge, 'methods'> {
  kind: 'waits'
}

/**
 * The check of a refresh, for a client whose tokens stay in the service: reads session, membership and tenant again and
 * advances the chain. Refuses if the session or its place in the tenant is over; a second factor is due if the tenant now
 * demands one. `waits`: a challenge for this tenant waits already, whose mailed code a new one would end; then no other
 * is opened.
 */
export function renewSession(
  deps: Deps,
  { ip, userAgent }: RequestInfo,
  chain: { familyId: string; sessionId: string },
  { waits }: { waits: boolean },
): Promise<Continuation | Waiting> {
  const now = deps.clock()
  const { sessionId } = chain
  return asSystem(deps.db, 'the tenant is known once the chain is read', async (tx) => {
    const [locked, found] = await Promise.all([
      lockSession(tx, { id: sessionId, at: now }),
      findLiveChain(tx, chain, now),
    ])
    if (found.kind === 'refused') return found
    const eligibility = await readEligibility(tx, found.family.user_id, now)
    const checked = await checkChain(deps, tx, found, eligibility)
    if (checked.kind === 'refused') return checked
    if (checked.kind === 'factor_due')
      return waits
        ? { kind: 'waits', methods: checked.methods }
        : { kind: 'factor_due', challenge: await openChallenge(deps, tx, checked, now) }
    if (!locked) return refused(sessionRevoked())
    const grant = await renewFamily(deps, tx, found.family, checked.session, now)
    if (!grant) return refused(sessionRevoked())
    await touchSession(tx, { id: sessionId, at: now, ip, userAgent })
    return { kind: 'continued', grant }
  })
}
