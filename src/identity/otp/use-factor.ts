import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import type { Caller } from '../../request/caller.ts'
import { applySecondFactor } from '../sign-in/complete-sign-in.ts'
import { handOut } from '../sign-in/outcome.ts'
import type { ShownFactor } from './accept-code.ts'
import { forgiveAttempt } from './code-store.ts'
import { proveFactors } from './young-factors.ts'

/** What uses a factor up, and what is recorded about it. Both run in one transaction, as the system role. */
interface Use {
  /** Null if the factor is not accepted. */
  accept(tx: Tx): Promise<ShownFactor | null>
  record(tx: Tx, shown: ShownFactor): Promise<void>
}

/**
 * Uses a second factor up and raises the session to `aal2`; with a temporary token completes the sign-in and returns its
 * tokens. A factor that does not count yet returns `counts_from` and leaves the session `aal1`; a temporary token then
 * gets tokens only if no factor that counts is demanded. Null if the factor is not accepted.
 */
export async function useFactor(deps: Deps, caller: Caller, at: number, { accept, record }: Use) {
  const used = await asSystem(deps.db, 'a second factor may begin a session', async (tx) => {
    const accepted = await accept(tx)
    if (!accepted) return null
    const shown = await proveFactors(tx, caller, accepted, at)
    await forgiveAttempt(tx, { userId: caller.userId, at })
    await record(tx, shown)
    const counts = shown.countsFrom === null
    return { shown, outcome: await applySecondFactor(deps, tx, caller, { type: shown.type, counts }, at) }
  })
  if (!used) return null
  const { shown, outcome } = used
  const { type: device_type, deviceId: device_id, countsFrom } = shown
  const counts_from = countsFrom === null ? null : rfc3339(countsFrom)
  return handOut(outcome, { verified: true, device_type, device_id, counts_from })
}
