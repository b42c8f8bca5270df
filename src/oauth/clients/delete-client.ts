import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { clientIdOf } from './client-id.ts'
import { auditedClient } from './client-schemas.ts'
import { type ClientRow, deleteClient } from './store.ts'

/** Deletes a client with its secrets. Its tokens are refused from the next request on. */
export async function removeClient(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  client: ClientRow,
  versions: Versions,
): Promise<void> {
  assertAmong(versions, client.version)
  const key = { tenantId: client.tenant_id, id: client.id }
  deleteClient(tx, key)
  await recordChange(tx, caller, clock(), {
    event: 'application.client_deleted',
    data: { client_id: clientIdOf(key) },
    action: 'oauth_client:delete',
    target: { type: 'oauth_client', id: client.id },
    changes: changesBetween(auditedClient(client), null),
  })
}
