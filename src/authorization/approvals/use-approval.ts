import type { Tx } from '../../platform/db/transaction.ts'
import { approvalInvalid, type GuardedCall } from '../../platform/http/approval-gate.ts'
import { hasWritten, markExecuted, wasExecutedUnder } from './move-store.ts'
import { callerOf, tellMove } from './tell-move.ts'

/**
 * Uses an approval up in the transaction of its effect: of all that try, one, and the others' effects are rolled back
 * with the 403 `approval_invalid` thrown here. A transaction that wrote nothing has no effect and uses nothing up,
 * unless `whatever`. Asked again under the same decision it changes nothing.
 */
export async function useApproval(
  tx: Tx,
  call: GuardedCall,
  id: string,
  { whatever = false } = {},
): Promise<void> {
  if (!whatever && !(await hasWritten(tx))) return
  const { tenantId, decisionId, now } = call
  if (await markExecuted(tx, tenantId, { id, decisionId, at: now })) {
    await tellMove(tx, callerOf(call), { id, from: 'approved', to: 'executed' })
  } else if (!(await wasExecutedUnder(tx, tenantId, { id, decisionId }))) throw approvalInvalid()
}
