import type { Deps } from '../../deps.ts'
import type { DataType, Scalar } from '../../platform/access/conditions.ts'
import { inTenant, type Tx } from '../../platform/db/transaction.ts'
import { ApiError, invalidField, notFound } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { causedBy } from '../../platform/outbox/caused-by.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { isOfType, typeNames } from '../../tenancy/members/check-attributes.ts'
import { growPolicyRevision } from '../../tenancy/tenants/store.ts'
import { isBuiltIn, isBuiltInName } from './built-in.ts'
import { permitDefinition } from './read-attributes.ts'
import {
  countDefinitions,
  type DefinitionRow,
  deleteDefinition,
  findDefinition,
  insertDefinition,
} from './store.ts'

export interface DefinitionBody extends Omit<DefinitionRow, 'id' | 'created_at' | 'display_name'> {
  display_name?: string | undefined
}

const mostDefinitions = 500

/** Defines an attribute. 400 for allowed values of another type; 409 `key_taken`, `limit_reached` beyond 500. */
export async function defineAttribute(
  deps: Deps,
  actor: Actor,
  body: DefinitionBody,
): Promise<DefinitionRow> {
  assertAllowedValues(body.allowed_values, body.data_type)
  const { tenantId } = actor
  const at = deps.clock()
  const row = { ...body, id: timeOrderedId(at), display_name: body.display_name ?? body.key }
  return inTenant(deps.db, actor, async (tx) => {
    await growPolicyRevision(tx, tenantId)
    if (
      isBuiltInName(`${body.category}.${body.key}`) ||
      !(await insertDefinition(tx, tenantId, { ...row, at }))
    )
      throw new ApiError(409, 'key_taken', `There is an attribute ${body.category}.${body.key} already.`)
    if ((await countDefinitions(tx, tenantId)) > mostDefinitions)
      throw new ApiError(409, 'limit_reached', `A tenant may define ${mostDefinitions} attributes.`)
    await appendDefinitionEvent(tx, actor, { type: 'created', id: row.id, at })
    return { ...row, created_at: at }
  })
}

/** Deletes a definition. 403 for a built-in one; 409 `attribute_in_use` where a policy or a member has it. */
export async function removeDefinition(deps: Deps, actor: Actor, id: string): Promise<void> {
  const at = deps.clock()
  const found = await inTenant(deps.db, actor, (tx) => findDefinition(tx, actor.tenantId, id))
  permitDefinition(actor, id, found)
  if (isBuiltIn(id)) throw new ApiError(403, 'permission_denied', 'A built-in attribute stays.')
  await inTenant(deps.db, actor, async (tx) => {
    await growPolicyRevision(tx, actor.tenantId)
    if (!(await deleteDefinition(tx, actor.tenantId, id))) {
      if (!(await findDefinition(tx, actor.tenantId, id))) throw notFound()
      throw new ApiError(
        409,
        'attribute_in_use',
        'A policy or a member has this attribute. Take it out there first.',
      )
    }
    await appendDefinitionEvent(tx, actor, { type: 'deleted', id, at })
  })
}

function assertAllowedValues(values: readonly Scalar[] | null, type: DataType): void {
  const wrong = values?.findIndex((value) => type !== 'array' && !isOfType(value, type)) ?? -1
  if (wrong >= 0) throw invalidField(`allowed_values.${wrong}`, `This has to be ${typeNames[type]}.`)
}

const appendDefinitionEvent = (
  tx: Tx,
  actor: Actor,
  { type, id, at }: { type: 'created' | 'deleted'; id: string; at: number },
) =>
  appendEvent(tx, {
    ...causedBy(actor, at),
    type: `authorization.attribute_definition_${type}`,
    subject: id,
    data: { attribute_definition_id: id },
  })
