import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { notFound } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import type { Caller } from '../../request/caller.ts'
import { clientIdOf } from '../clients/client-id.ts'
import { deleteTrust, type TrustRow } from './store.ts'
import { auditedTrust } from './trust-schemas.ts'

/** Deletes a trust. Its tokens are refused from the next request on. 404 if it is gone. */
export async function removeTrust(tx: Tx, { clock }: Deps, caller: Caller, row: TrustRow): Promise<void> {
  const key = { tenantId: row.tenant_id, id: row.id }
  if (!(await deleteTrust(tx, key))) throw notFound()
  await recordChange(tx, caller, clock(), {
    event: 'application.client_deleted',
    data: { client_id: clientIdOf(key) },
    action: 'oauth_client:delete',
    target: { type: 'oauth_client', id: row.id },
    changes: changesBetween(auditedTrust(row), null),
  })
}
