import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { assertAmong, preconditionFailed } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { checkValues } from './check-values.ts'
import { auditedResource, type ResourceBody } from './resource-schemas.ts'
import {
  countOneMore,
  deleteResource,
  insertResource,
  type ResourceName,
  type ResourceRow,
  replaceResource,
} from './store.ts'

interface Registration {
  name: ResourceName
  /** The registered resource of this name, or null. The transaction has locked the name. */
  current: ResourceRow | null
  body: ResourceBody
  versions: Versions
}

/**
 * Registers a resource, or replaces it. Does nothing when nothing changes. 400 for unknown owners, departments and
 * attributes, 409 `limit_reached`, 412 for another version.
 */
export async function putResource(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  { name, current, body, versions }: Registration,
): Promise<ResourceRow> {
  const { tenantId } = caller
  const at = deps.clock()
  if (current) assertAmong(versions, current.version)
  else if (versions !== null) throw preconditionFailed()
  await checkValues(tx, tenantId, body)
  if (current) {
    const replaced = await replaceResource(tx, tenantId, { ...body, id: current.id, at })
    if (replaced) await recordResource(tx, caller, at, { type: 'updated', before: current, after: replaced })
    return replaced ?? current
  }
  const max = deps.config.LIMIT_RESOURCES
  if (!(await countOneMore(tx, tenantId, max)))
    throw new ApiError(409, 'limit_reached', `A tenant can register at most ${max} resources.`)
  const inserted = await insertResource(tx, tenantId, { ...name, ...body, id: timeOrderedId(at), at })
  await recordResource(tx, caller, at, { type: 'created', before: null, after: inserted })
  return inserted
}

/** Deletes a registered resource. 412 for another version. */
export async function removeResource(
  tx: Tx,
  { clock }: Pick<Deps, 'clock'>,
  caller: Caller,
  row: ResourceRow,
  versions: Versions,
): Promise<void> {
  assertAmong(versions, row.version)
  await deleteResource(tx, caller.tenantId, row.id)
  await recordResource(tx, caller, clock(), { type: 'deleted', before: row, after: null })
}

type Recorded = Parameters<typeof auditedResource>[0] & Pick<ResourceRow, 'id'>

export interface Change {
  type: 'created' | 'updated' | 'deleted'
  before: Recorded | null
  after: Recorded | null
}

function recordResource(tx: Tx, caller: Caller, at: number, change: Change): Promise<void> {
  return recordChange(tx, caller, at, { event: `authorization.resource_${change.type}`, ...changeOf(change) })
}

/** A change of a registered resource, as event and audit row tell it. */
export function changeOf({ type, before, after }: Change) {
  const { id, resource_type, resource_id } = (after ?? before)!
  return {
    data: { registered_resource_id: id, resource_type, resource_id },
    action: type === 'deleted' ? 'registered_resource:delete' : 'registered_resource:update',
    target: { type: 'registered_resource', id },
    changes: changesBetween(before && auditedResource(before), after && auditedResource(after)),
  } as const
}
