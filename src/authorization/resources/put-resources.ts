import { countRows } from '../../database/count-rows.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { recordChanges } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import type { ItemDecisions } from '../../request/item-decisions.ts'
import { type BulkItem, invalid, refusedItem } from './bulk-items.ts'
import { valueFaults } from './check-values.ts'
import { type Change, changeOf } from './put-resource.ts'
import { type ResourceBody, registrationResource } from './resource-schemas.ts'
import {
  deleteResources,
  findResources,
  insertResources,
  lockAllResources,
  type ManyValues,
  type ResourceName,
  type ResourceRow,
  replaceResources,
  type StoredResource,
} from './store.ts'

type Valid = Extract<BulkItem, { name: ResourceName }>
/** A change that is permitted, with the id of its decision. */
type Decided = Change & { decisionId: string }

// One statement, and a few ms.
const recordedAtOnce = 128

const isValid = (item: BulkItem): item is Valid => !('faults' in item)

const keyOf = ({ resource_type, resource_id }: ResourceName) => `${resource_type} ${resource_id}`

const rowOf = (stored: StoredResource): ResourceRow => ({
  ...stored,
  attributes: JSON.parse(stored.attributes),
})

async function findAll(tx: Tx, tenantId: string, items: readonly Valid[]) {
  const names = items.map(({ name }) => name)
  const rows = names.length === 0 ? [] : await findResources(tx, tenantId, names)
  return new Map(rows.map((row) => [keyOf(row), row]))
}

const limitReached = (max: number) => [
  { field: '', code: 'limit_reached', detail: `A tenant can register at most ${max} resources.` },
]

/** Registers or replaces each resource as a PUT of its own would; an item that cannot be is `invalid`. */
export async function putResources(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  items: readonly BulkItem[],
  { decide, pace }: ItemDecisions,
) {
  const { tenantId } = caller
  const at = deps.clock()
  const max = deps.config.LIMIT_RESOURCES
  const valid = items.filter(isValid)
  lockAllResources(tx, tenantId)
  const [found, count, faultsOf] = await Promise.all([
    findAll(tx, tenantId, valid),
    countRows(tx, tenantId, 'registered_resources'),
    valueFaults(
      tx,
      tenantId,
      valid.map(({ body }) => body),
    ),
  ])
  const toInsert: (ManyValues & ResourceName)[] = []
  const toReplace: ManyValues[] = []
  const decided: Decided[] = []
  const judge = async (item: BulkItem) => {
    if (!isValid(item)) return invalid(item, item.faults)
    const { name, body, json } = item
    const stored = found.get(keyOf(name))
    const before = stored ? rowOf(stored) : null
    const { decisionId, refusal } = await decide(
      before ? registrationResource(before) : newResource(name, body),
    )
    if (refusal) return invalid(item, refusedItem(refusal))
    const faults = faultsOf(body)
    if (faults.length > 0) return invalid(item, faults)
    if (!before && count + toInsert.length >= max) return invalid(item, limitReached(max))
    const id = before?.id ?? timeOrderedId(at)
    const values = { ...body, id, attributes: json }
    if (before) toReplace.push(values)
    else toInsert.push({ ...name, ...values })
    decided.push({
      type: before ? 'updated' : 'created',
      before,
      after: { ...name, ...body, id },
      decisionId,
    })
    return id
  }
  const judged: Awaited<ReturnType<typeof judge>>[] = []
  for (const item of items) judged.push(await judge(item))
  insertResources(tx, tenantId, toInsert, at)
  const replaced = await replaceResources(tx, tenantId, toReplace, at)
  const changes = decided.filter(({ type, after }) => type === 'created' || replaced.has(after!.id))
  await recordAll(tx, caller, at, changes, pace)
  const outcomes = new Map(changes.map(({ after, type }) => [after!.id, type as 'created' | 'updated']))
  const results = judged.map((one, index) => {
    if (typeof one !== 'string') return one
    const { type, id } = items[index]!
    return { type, id, outcome: outcomes.get(one) ?? ('unchanged' as const) }
  })
  return { results }
}

/** A resource that a call would register, as policies see it. */
export const newResource = (name: ResourceName, body: ResourceBody) => ({
  type: 'registered_resource',
  id: null,
  ownerId: body.owner_id,
  fields: { ...name, ...body },
})

/** Deletes each resource as a DELETE of its own would; one that does not exist is `absent`. */
export async function removeResources(
  tx: Tx,
  { clock }: Pick<Deps, 'clock'>,
  caller: Caller,
  items: readonly BulkItem[],
  { decide, pace }: ItemDecisions,
) {
  const { tenantId } = caller
  lockAllResources(tx, tenantId)
  const found = await findAll(tx, tenantId, items.filter(isValid))
  const changes: Decided[] = []
  const judge = async (item: BulkItem) => {
    if (!isValid(item)) return invalid(item, item.faults)
    const { type, id, name } = item
    const stored = found.get(keyOf(name))
    if (!stored) return { type, id, outcome: 'absent' as const }
    const before = rowOf(stored)
    const { decisionId, refusal } = await decide(registrationResource(before))
    if (refusal) return invalid(item, refusedItem(refusal))
    changes.push({ type: 'deleted', before, after: null, decisionId })
    return { type, id, outcome: 'deleted' as const }
  }
  const results: Awaited<ReturnType<typeof judge>>[] = []
  for (const item of items) results.push(await judge(item))
  deleteResources(
    tx,
    tenantId,
    changes.map(({ before }) => before!.id),
  )
  await recordAll(tx, caller, clock(), changes, pace)
  return { results }
}

async function recordAll(
  tx: Tx,
  caller: Caller,
  at: number,
  changes: readonly Decided[],
  pace: () => Promise<void>,
): Promise<void> {
  for (const type of ['created', 'updated', 'deleted'] as const) {
    const same = changes.filter((change) => change.type === type)
    for (let from = 0; from < same.length; from += recordedAtOnce) {
      await pace()
      const rows = same
        .slice(from, from + recordedAtOnce)
        .map(({ decisionId, ...change }) => ({ ...changeOf(change), decisionId }))
      await recordChanges(tx, caller, at, `authorization.resource_${type}`, rows)
    }
  }
}
