import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { auditedResource } from './resource-schemas.ts'
import { deleteResource, type ResourceRow } from './store.ts'

/** Deletes a resource. No new tokens name it, and introspection of those that do ends. */
export async function removeResource(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  resource: ResourceRow,
  versions: Versions,
): Promise<void> {
  assertAmong(versions, resource.version)
  const { tenant_id: tenantId, id } = resource
  deleteResource(tx, { tenantId, id })
  await recordChange(tx, caller, clock(), {
    event: 'application.resource_deleted',
    data: { oauth_resource_id: id },
    action: 'oauth_resource:delete',
    target: { type: 'oauth_resource', id },
    changes: changesBetween(auditedResource(tenantId, resource), null),
  })
}
