import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { assertIdentifier, clientRowsOf } from './check-resource.ts'
import { auditedResource, type NewResource } from './resource-schemas.ts'
import { countResources, insertResource, type ResourceRow } from './store.ts'

const maxResources = 200

/** Registers a resource. 400 for an identifier or client that is not the tenant's, 409 `name_taken` and `limit_reached`. */
export async function createResource(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  body: NewResource,
): Promise<ResourceRow> {
  const { tenantId, userId: createdBy } = caller
  const at = deps.clock()
  const id = timeOrderedId(at)
  await lockTenant(tx, tenantId)
  await assertIdentifier(tx, deps, tenantId, body)
  if ((await countResources(tx, tenantId)) >= maxResources)
    throw new ApiError(409, 'limit_reached', `A tenant can have at most ${maxResources} resources.`)
  const resource = { ...body, client_ids: await clientRowsOf(tx, tenantId, body.client_ids) }
  insertResource(tx, { ...resource, tenantId, id, createdBy, at })
  await recordChange(tx, caller, at, {
    event: 'application.resource_created',
    data: { oauth_resource_id: id },
    action: 'oauth_resource:create',
    target: { type: 'oauth_resource', id },
    changes: changesBetween(null, auditedResource(tenantId, resource)),
  })
  return { ...resource, tenant_id: tenantId, id, created_by: createdBy, created_at: at, version: 1 }
}
