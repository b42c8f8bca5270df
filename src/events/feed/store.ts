import type { Read } from '../../platform/db/read.ts'
import { sql } from '../../platform/db/transaction.ts'
import { type EventRow, eventColumns, eventRow } from '../envelope.ts'

/** Up to `most` events of the tenant with a sequence above `after`, in its order. */
export function listEventsAfter(
  read: Read,
  tenantId: string,
  after: number,
  most: number,
): Promise<readonly EventRow[]> {
  return read.any(sql.type(eventRow)`
    select ${eventColumns} from events e where e.tenant_id = ${tenantId} and e.sequence > ${after}
    order by e.sequence limit ${most}`)
}
