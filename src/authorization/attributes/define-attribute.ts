import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant, revise } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidField, managedByApplication, notFound } from '../../errors.ts'
import { appendAudit, changesBetween, doneBy } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { causedBy } from '../../messages/outbox/caused-by.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { DataType, Scalar } from '../../policy-engine/compile/conditions.ts'
import type { Caller } from '../../request/caller.ts'
import { isOfType, typeNames } from '../../tenancy/members/check-attributes.ts'
import { isBuiltIn, isBuiltInName } from './built-in.ts'
import {
  countOwnDefinitions,
  type DefinitionRow,
  deleteDefinition,
  findDefinition,
  insertDefinition,
  keyTaken,
} from './store.ts'

interface DefinitionBody extends Omit<DefinitionRow, 'id' | 'created_at' | 'display_name' | 'managed_by'> {
  display_name?: string | undefined
}

const maxDefinitions = 500

/** Defines an attribute. 400 for allowed values of another type; 409 `key_taken`, or `limit_reached` above 500. */
export async function defineAttribute(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  body: DefinitionBody,
): Promise<DefinitionRow> {
  assertAllowedValues(body.allowed_values, body.data_type)
  if (body.source === 'caller' && body.category !== 'resource')
    throw invalidField('source', 'Only attributes of the category resource can come from the caller.')
  const { tenantId } = caller
  const at = deps.clock()
  const row = {
    ...body,
    id: timeOrderedId(at),
    display_name: body.display_name ?? body.key,
    managed_by: null,
  }
  if (isBuiltInName(`${body.category}.${body.key}`)) throw keyTaken(body)
  await lockTenant(tx, tenantId)
  if ((await countOwnDefinitions(tx, tenantId)) >= maxDefinitions)
    throw new ApiError(409, 'limit_reached', `A tenant can define at most ${maxDefinitions} attributes.`)
  insertDefinition(tx, tenantId, { ...row, at })
  revise(tx, tenantId)
  const made = { ...row, created_at: at }
  await recordChange(tx, caller, { type: 'created', row: made, at })
  return made
}

/** Deletes a definition. 403 for a built-in one; 409 `managed`, and `attribute_in_use` if a policy or a member uses it. */
export async function removeDefinition(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  row: DefinitionRow,
): Promise<void> {
  const at = deps.clock()
  const { id, managed_by } = row
  if (isBuiltIn(id)) throw new ApiError(403, 'permission_denied', 'A built-in attribute cannot be deleted.')
  if (managed_by !== null) throw managedByApplication(managed_by, 'attribute')
  revise(tx, caller.tenantId)
  if (!(await deleteDefinition(tx, caller.tenantId, id))) {
    if (!(await findDefinition(tx, caller.tenantId, id))) throw notFound()
    throw new ApiError(
      409,
      'attribute_in_use',
      'A policy or a member uses this attribute. Remove it there first.',
    )
  }
  await recordChange(tx, caller, { type: 'deleted', row, at })
}

function assertAllowedValues(values: readonly Scalar[] | null, type: DataType): void {
  const wrong = wrongAllowedValue(values, type)
  if (wrong !== undefined) throw invalidField(`allowed_values.${wrong}`, `This has to be ${typeNames[type]}.`)
}

/** The index of the first allowed value that does not have the type of the attribute, or undefined. */
export function wrongAllowedValue(values: readonly Scalar[] | null, type: DataType): number | undefined {
  const wrong = values?.findIndex((value) => type !== 'array' && !isOfType(value, type)) ?? -1
  return wrong < 0 ? undefined : wrong
}

async function recordChange(
  tx: Tx,
  caller: Caller,
  { type, row, at }: { type: 'created' | 'deleted'; row: DefinitionRow; at: number },
): Promise<void> {
  const { id, created_at: _at, ...shown } = row
  await appendEvent(tx, {
    ...causedBy(caller, at),
    type: `authorization.attribute_definition_${type}`,
    subject: id,
    data: { attribute_definition_id: id },
  })
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: type === 'created' ? 'attribute_definition:create' : 'attribute_definition:delete',
    target: { type: 'attribute_definition', id },
    changes: type === 'created' ? changesBetween(null, shown) : changesBetween(shown, null),
  })
}
