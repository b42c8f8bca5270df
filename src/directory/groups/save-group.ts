import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidField } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { assertMayGive, giveAndRecord } from '../rules/apply-rules.ts'
import type { GroupChange } from './read-group-change.ts'
import {
  addMembers,
  countAllGroups,
  deleteGroup,
  findGroup,
  type GroupRow,
  insertGroup,
  removeMembers,
  unknownUsers,
  updateGroup,
} from './store.ts'

const maxGroups = 10_000
const maxName = 256

/** Makes a group. The transaction must hold the tenant's lock. 409 `uniqueness` and `limit_reached`, 400 for unknown members. */
export async function createGroup(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  change: GroupChange,
): Promise<GroupRow> {
  const { tenantId } = caller
  const at = clock()
  const id = timeOrderedId(at)
  const values = valuesOf(change, { displayName: '', externalId: null })
  if ((await countAllGroups(tx, tenantId)) >= maxGroups)
    throw new ApiError(409, 'limit_reached', `A tenant can have at most ${maxGroups} groups.`)
  insertGroup(tx, { tenantId, id, ...values, at })
  const { added } = await changeMembers(tx, tenantId, id, change)
  await recordGroup(tx, caller, at, 'directory.group_created', id, {
    ...changesBetween(null, audited(values)),
    ...(added.size > 0 && { members_added: { before: null, after: added.size } }),
  })
  return (await findGroup(tx, { tenantId, id }))!
}

/** Changes a locked group; its row before if nothing changes. 409 `uniqueness`, 400 for unknown members. */
export async function changeGroup(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  group: GroupRow,
  change: GroupChange,
): Promise<GroupRow> {
  const { tenantId } = caller
  const { id } = group
  const at = clock()
  const before = { displayName: group.display_name, externalId: group.external_id }
  const values = valuesOf(change, before)
  const { added, removed } = await changeMembers(tx, tenantId, id, change)
  const isNamed = values.displayName !== before.displayName || values.externalId !== before.externalId
  if (!isNamed && added.size === 0 && removed.size === 0) return group
  updateGroup(tx, { tenantId, id, ...values, at })
  const ids = [...added, ...removed]
  if (ids.length > 0) await assertMayGive(tx, caller, id, { ids })
  const changed = ids.length > 0 ? await giveAndRecord(tx, caller, { ids }, at) : {}
  await recordGroup(tx, caller, at, 'directory.group_updated', id, {
    ...changesBetween(audited(before), audited(values)),
    ...(added.size > 0 && { members_added: { before: null, after: added.size } }),
    ...(removed.size > 0 && { members_removed: { before: null, after: removed.size } }),
    ...changed,
  })
  return (await findGroup(tx, { tenantId, id }))!
}

/** Deletes a locked group with its rules. */
export async function endGroup(tx: Tx, { clock }: Deps, caller: Caller, group: GroupRow): Promise<void> {
  const { tenantId } = caller
  const { id, display_name: displayName, external_id: externalId } = group
  const at = clock()
  await assertMayGive(tx, caller, id, { group: id })
  const removed = await deleteGroup(tx, { tenantId, id })
  const changed = await giveAndRecord(tx, caller, { ids: removed }, at)
  const changes = { ...changesBetween(audited({ displayName, externalId }), null), ...changed }
  await recordGroup(tx, caller, at, 'directory.group_deleted', id, changes)
}

interface GroupValues {
  displayName: string
  externalId: string | null
}

function valuesOf({ displayName, externalId }: GroupChange, before: GroupValues): GroupValues {
  const name = displayName ?? before.displayName
  if (name.trim() === '') throw invalidField('displayName', 'Give a displayName.')
  if (name.length > maxName)
    throw invalidField('displayName', `A displayName can have at most ${maxName} characters.`)
  if (externalId && externalId.length > maxName)
    throw invalidField('externalId', `An externalId can have at most ${maxName} characters.`)
  return { displayName: name, externalId: externalId === undefined ? before.externalId : externalId }
}

/** Whose membership of the group changed. 400 for ids that no User has. */
async function changeMembers(tx: Tx, tenantId: string, id: string, { steps }: GroupChange) {
  const [added, removed] = [new Set<string>(), new Set<string>()]
  const key = { tenantId, id }
  const note = (ids: readonly string[], to: Set<string>, from: Set<string>) => {
    for (const one of ids) if (!from.delete(one)) to.add(one)
  }
  const named = [
    ...new Set(steps.flatMap((step) => ('add' in step ? step.add : 'set' in step ? step.set : []))),
  ]
  const [unknown] = named.length > 0 ? await unknownUsers(tx, tenantId, named) : []
  if (unknown) throw invalidField('members', `There is no User ${unknown}.`, 'unknown')
  for (const step of steps) {
    if ('remove' in step) note(await removeMembers(tx, key, step.remove), removed, added)
    if ('set' in step) note(await removeMembers(tx, key, { but: step.set }), removed, added)
    const ids = 'add' in step ? step.add : 'set' in step ? step.set : []
    if (ids.length > 0) note(await addMembers(tx, key, ids), added, removed)
  }
  return { added, removed }
}

const audited = ({ displayName, externalId }: GroupValues) => ({
  display_name: displayName,
  external_id: externalId,
})

const recordGroup = (
  tx: Tx,
  caller: Caller,
  at: number,
  event: 'directory.group_created' | 'directory.group_updated' | 'directory.group_deleted',
  id: string,
  changes: Record<string, { before: unknown; after: unknown }>,
): Promise<void> =>
  recordChange(tx, caller, at, {
    event,
    data: { directory_group_id: id },
    action: 'scim:provision',
    target: { type: 'directory_group', id },
    changes: changes as never,
  })
