import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { assertIdentifier, clientRowsOf } from './check-resource.ts'
import { auditedResource, type ResourceChange } from './resource-schemas.ts'
import { changeResource, type ResourceRow } from './store.ts'

/** Changes a locked resource. Refusals are those of a new one. */
export async function updateResource(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  resource: ResourceRow,
  { body, ifMatch }: { body: ResourceChange; ifMatch: Versions },
): Promise<ResourceRow> {
  const at = deps.clock()
  const { tenant_id: tenantId, id } = resource
  assertAmong(ifMatch, resource.version)
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
  const next: ResourceRow = {
    ...resource,
    ...given,
    client_ids: body.client_ids ? await clientRowsOf(tx, tenantId, body.client_ids) : resource.client_ids,
  }
  if (isDeepStrictEqual(next, resource)) return resource
  if (next.identifier !== resource.identifier) {
    await lockTenant(tx, tenantId)
    await assertIdentifier(tx, deps, tenantId, next)
  }
  changeResource(tx, { ...next, tenantId, at })
  await recordChange(tx, caller, at, {
    event: 'application.resource_updated',
    data: { oauth_resource_id: id },
    action: 'oauth_resource:update',
    target: { type: 'oauth_resource', id },
    changes: changesBetween(auditedResource(tenantId, resource), auditedResource(tenantId, next)),
  })
  return { ...next, version: resource.version + 1 }
}
