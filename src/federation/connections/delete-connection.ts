import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { settingsOf } from './show-connection.ts'
import { type ConnectionRow, deleteConnection } from './store.ts'

/** Deletes a locked connection. */
export async function removeConnection(
  tx: Tx,
  { clock }: Pick<Deps, 'clock'>,
  caller: Caller,
  connection: ConnectionRow,
  versions: Versions,
): Promise<void> {
  assertAmong(versions, connection.version)
  const { tenantId } = caller
  const { id } = connection
  deleteConnection(tx, { tenantId, id })
  await recordChange(tx, caller, clock(), {
    event: 'tenant.connection_deleted',
    data: { connection_id: id },
    action: 'connection:delete',
    target: { type: 'connection', id },
    changes: changesBetween(settingsOf(connection), null),
  })
}
