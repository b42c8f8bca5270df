import { z } from 'zod'
import type { Sealer } from '../../crypto/seal.ts'
import type { Read } from '../../database/executor/read.ts'
import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { noteLogged } from '../../database/log-quota.ts'
import type { StoredCall } from '../../request/change/approvals.ts'

const contextOf = (tenantId: string, id: string) => `${tenantId}.${id}`

interface NewStoredCall {
  tenantId: string
  /** of the approval request */
  id: string
  call: StoredCall
  at: number
}

/** Stores the call of a pending request, for a worker to carry out. False if the request is no longer pending. */
export async function storeCall(
  tx: Tx,
  sealer: Sealer,
  { tenantId, id, call, at }: NewStoredCall,
): Promise<boolean> {
  const marked = await tx.maybeOne(sql.type(idRow)`
    update approval_requests set execution_status = 'pending'
    where tenant_id = ${tenantId} and id = ${id} and status = 'pending' returning id`)
  if (!marked) return false
  const sealed = sealer.seal('stored-call', JSON.stringify(call), contextOf(tenantId, id))
  noteLogged(tx, sealed)
  tx.later(sql.unsafe`
    insert into stored_calls (tenant_id, id, call_sealed, created_at)
    values (${tenantId}, ${id}, ${sql.binary(sealed)}, ${instant(at)})
    on conflict do nothing`)
  return true
}

const storedRow = z.object({ call_sealed: z.instanceof(Buffer), created_at: z.number() })

/** The stored call of a request, or null. */
export async function findStoredCall(
  read: Read,
  sealer: Sealer,
  { tenantId, id }: Pick<NewStoredCall, 'tenantId' | 'id'>,
): Promise<StoredCall | null> {
  const row = await read.maybeOne(sql.type(storedRow)`
    select call_sealed, created_at from stored_calls where tenant_id = ${tenantId} and id = ${id}`)
  if (!row) return null
  // A call that was stored again for another approval keeps the time when it was first stored.
  const call: StoredCall = JSON.parse(sealer.open('stored-call', row.call_sealed, contextOf(tenantId, id)))
  return { storedAt: row.created_at, ...call }
}

/** Deletes the stored call of a request that ends, if there is one. */
export async function deleteStoredCall(tx: Tx, tenantId: string, id: string): Promise<void> {
  tx.later(sql.unsafe`delete from stored_calls where tenant_id = ${tenantId} and id = ${id}`)
}

/** approved → executed, because the stored call failed; false if it was carried out, or is no longer approved. */
export async function markFailed(
  tx: Tx,
  tenantId: string,
  failed: {
    id: string
    decisionId: string
    at: number
    problem: Record<string, unknown>
    httpStatus: number
  },
): Promise<boolean> {
  const at = instant(failed.at)
  const row = await tx.maybeOne(sql.type(idRow)`
    update approval_requests set status = 'executed', executed_at = ${at}, executed_decision = ${failed.decisionId},
      execution_status = 'failed', execution_http_status = ${failed.httpStatus},
      execution_problem = ${sql.jsonb(failed.problem as never)}
    where tenant_id = ${tenantId} and id = ${failed.id} and status = 'approved' and execution_status = 'pending'
      and expires_at > ${at}
    returning id`)
  return row !== null
}
