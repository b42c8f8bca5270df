import { z } from 'zod'
import { sql, type Tx } from '../db/transaction.ts'

const event = z.object({ type: z.string(), sequence: z.coerce.number(), request_id: z.string() })

/** What an event is and its place among its tenant's; null where the tenant has none of this id. */
export function findEvent(tx: Tx, tenantId: string, id: string): Promise<z.output<typeof event> | null> {
  return tx.maybeOne(sql.type(event)`
    select type, sequence, request_id from events where tenant_id = ${tenantId} and id = ${id}`)
}
