import { z } from 'zod'
import { sql, type Tx } from '../db/transaction.ts'
import type { Delivery } from './acknowledge.ts'

const event = z.object({
  tenant_id: z.string(),
  id: z.string(),
  type: z.string(),
  sequence: z.coerce.number().nullable(),
  request_id: z.string(),
})

/** What the events of these messages are, and the place of each among its tenant's; a message has its event's id. */
export function listEventsOf(tx: Tx, messages: Delivery[]): Promise<readonly z.output<typeof event>[]> {
  return tx.any(sql.type(event)`
    select e.tenant_id, e.id, e.type, e.sequence, e.request_id
    from ${sql.unnest(
      messages.map(({ tenantId, id }) => [tenantId, id]),
      ['uuid', 'uuid'],
    )} as m (tenant_id, id)
    join events e on e.tenant_id = m.tenant_id and e.id = m.id`)
}
