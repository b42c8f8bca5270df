import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { endSessionsOfConnection } from '../../identity/sessions/end-session.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { takeRolesOfConnection } from '../../tenancy/members/roles-store.ts'
import { settingsOf } from './show-connection.ts'
import { deleteSignInsBeyond } from './sign-ins/store.ts'
import { type ConnectionRow, deleteConnection } from './store.ts'

/** Deletes a locked connection with the roles that its mapping gave, and ends the sessions by it. */
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
  const at = clock()
  deleteSignInsBeyond(tx, { tenantId, id, isRefused: null }, 0)
  deleteConnection(tx, { tenantId, id })
  await takeRolesOfConnection(tx, { tenantId, id, at })
  await endSessionsOfConnection(tx, caller, { tenantId, id }, at)
  await recordChange(tx, caller, at, {
    event: 'tenant.connection_deleted',
    data: { connection_id: id },
    action: 'connection:delete',
    target: { type: 'connection', id },
    changes: changesBetween(settingsOf(connection), null),
  })
}
