import { deleteOld } from '../db/delete-old.ts'
import { sql, type Tx } from '../db/transaction.ts'

/** Deletes audit rows older than `before` (ms since 1970), at most `most`; gives how many. As the worker role. */
export const deleteAuditBefore = (tx: Tx, before: number, most: number): Promise<number> =>
  deleteOld(
    tx,
    { table: 'audit_log', column: 'at', limit: sql.fragment`${sql.timestamp(new Date(before))}` },
    most,
  )
