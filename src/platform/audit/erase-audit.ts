import { deleteOld } from '../db/delete-old.ts'
import { sql, type Tx } from '../db/transaction.ts'

/** Deletes up to `limit` audit rows older than `before` (ms since 1970); gives how many. As the worker role. */
export const deleteAuditBefore = (tx: Tx, before: number, limit: number): Promise<number> =>
  deleteOld(
    tx,
    { table: 'audit_log', column: 'at', before: sql.fragment`${sql.timestamp(new Date(before))}` },
    limit,
  )
