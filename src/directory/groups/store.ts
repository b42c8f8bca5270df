import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { ApiError, invalidField } from '../../errors.ts'
import { type Compared, conditionOf } from '../filter-store.ts'
import { attributePath } from '../resource/attribute-path.ts'
import { groupType } from '../schema/attributes.ts'
import { uniqueness } from '../scim-error.ts'
import type { ListedBy } from '../scim-schemas.ts'

const groupRow = z.object({
  id: z.uuid(),
  display_name: z.string(),
  external_id: z.string().nullable(),
  created_at: z.number(),
  updated_at: z.number(),
  version: z.number(),
})

/** A group, without its members. Times are in ms since 1970. */
export type GroupRow = z.infer<typeof groupRow>

interface GroupKey {
  tenantId: string
  id: string
}

const columns = sql.fragment`g.id, g.display_name, g.external_id, g.created_at, g.updated_at, g.version`

/** One group of the tenant, or null. */
export const findGroup = (read: Read, { tenantId, id }: GroupKey): Promise<GroupRow | null> =>
  read.maybeOne(sql.type(groupRow)`
    select ${columns} from directory_groups g where g.tenant_id = ${tenantId} and g.id = ${id}`)

/** The same, locked until the transaction ends. */
export const lockGroup = (tx: Tx, { tenantId, id }: GroupKey): Promise<GroupRow | null> =>
  tx.maybeOne(sql.type(groupRow)`
    select ${columns} from directory_groups g where g.tenant_id = ${tenantId} and g.id = ${id} for no key update`)

const comparable = (tenantId: string): Record<string, Compared> => ({
  id: { type: 'id', value: sql.fragment`g.id` },
  displayname: { type: 'text', value: sql.fragment`g.display_name_key` },
  externalid: { type: 'exact', value: sql.fragment`g.external_id` },
  'members.value': {
    type: 'id',
    value: sql.fragment`(select min(gm.member_id::text) from directory_group_members gm
                         where gm.tenant_id = ${tenantId} and gm.group_id = g.id)`,
    equals: (given) => sql.fragment`
      g.id in (select gm.group_id from directory_group_members gm
               where gm.tenant_id = ${tenantId} and gm.member_id = ${given})`,
  },
  'meta.created': { type: 'time', value: sql.fragment`g.created_at` },
  'meta.lastmodified': { type: 'time', value: sql.fragment`g.updated_at` },
})

function compared(tenantId: string, path: string): Compared | undefined {
  const { attribute, filter, sub } = attributePath(groupType, path) ?? {}
  if (!attribute || filter) return undefined
  const name = sub
    ? `${attribute.name}.${sub.name}`
    : attribute.name === 'members'
      ? 'members.value'
      : attribute.name
  return comparable(tenantId)[name.toLowerCase()]
}

function matching(tenantId: string, { filter }: ListedBy): FragmentSqlToken {
  const all = sql.fragment`directory_groups g where g.tenant_id = ${tenantId}`
  return filter ? sql.fragment`${all} and ${conditionOf(filter, (path) => compared(tenantId, path))}` : all
}

/** `behind`: the count of what comes before the groups in the list. */
type GroupPage = ListedBy & { behind?: FragmentSqlToken }

/** A page of the groups that match, in order. */
export const listGroups = (read: Read, tenantId: string, query: GroupPage): Promise<readonly GroupRow[]> =>
  read.any(sql.type(groupRow)`select ${columns} ${pageOf(tenantId, query)}`)

function pageOf(tenantId: string, query: GroupPage): FragmentSqlToken {
  const { sortBy, descending, count, startIndex, behind = sql.fragment`0` } = query
  const first = sql.fragment`${startIndex - 1}::bigint - (${behind})`
  const by = compared(tenantId, sortBy ?? 'id')
  if (!by || by.equals) throw invalidField('sortBy', `Groups cannot be sorted by ${sortBy?.slice(0, 200)}.`)
  const direction = descending ? sql.fragment`desc` : sql.fragment`asc`
  return sql.fragment`
    from ${matching(tenantId, query)}
    order by ${by.value} ${direction}, g.id limit greatest(0, least(${count}::bigint, ${first} + ${count})) offset greatest(0, ${first})`
}

/** How many groups match. */
export const countGroups = (read: Read, tenantId: string, query: ListedBy): Promise<number> =>
  read.oneFirst(sql.type(countRow)`select count(*) from ${matching(tenantId, query)}`)

/** How many groups the tenant has. */
export const countAllGroups = (tx: Read, tenantId: string): Promise<number> =>
  tx.oneFirst(sql.type(countRow)`select count(*) from directory_groups where tenant_id = ${tenantId}`)

const memberRow = z.object({ group_id: z.uuid(), member_id: z.uuid() })

/** More than the longest body can name. */
const maxMembers = 30_000

/** The members of groups: of these, or of those of a page. 400 `too_many` for more than an answer can have. */
export async function listMembersOf(
  read: Read,
  tenantId: string,
  of: { ids: readonly string[] } | GroupPage,
): Promise<readonly z.infer<typeof memberRow>[]> {
  const groups =
    'filter' in of
      ? sql.fragment`in (select g.id ${pageOf(tenantId, of)})`
      : sql.fragment`= any(${sql.array([...of.ids], 'uuid')})`
  const members = await read.any(sql.type(memberRow)`
    select group_id, member_id from directory_group_members
    where tenant_id = ${tenantId} and group_id ${groups} order by group_id, member_id limit ${maxMembers + 1}`)
  if (members.length > maxMembers)
    throw new ApiError(
      400,
      'too_many',
      `The groups have more than ${maxMembers} members. Ask with excludedAttributes=members, or a smaller count.`,
    )
  return members
}

const taken = () => uniqueness('Another group has this displayName.')

interface GroupValues extends GroupKey {
  displayName: string
  externalId: string | null
  /** ms since 1970 */
  at: number
}

/** Inserts a group. The transaction can fail with 409 `uniqueness`. */
export function insertGroup(tx: Tx, { tenantId, id, displayName, externalId, at }: GroupValues): void {
  tx.later(
    sql.unsafe`
      insert into directory_groups (tenant_id, id, display_name, external_id, created_at, updated_at)
      values (${tenantId}, ${id}, ${displayName}, ${externalId}, ${instant(at)}, ${instant(at)})`,
    taken,
  )
}

/** Updates a locked group. The transaction can fail with 409 `uniqueness`. */
export function updateGroup(tx: Tx, { tenantId, id, displayName, externalId, at }: GroupValues): void {
  tx.later(
    sql.unsafe`
      update directory_groups set display_name = ${displayName}, external_id = ${externalId}, version = version + 1,
        updated_at = ${instant(at)}
      where tenant_id = ${tenantId} and id = ${id}`,
    taken,
  )
}

/** Deletes a group; the ids of its members. */
export async function deleteGroup(tx: Tx, key: GroupKey): Promise<readonly string[]> {
  const gone = await removeMembers(tx, key, 'all')
  tx.later(sql.unsafe`delete from directory_groups where tenant_id = ${key.tenantId} and id = ${key.id}`)
  return gone
}

/** Which of these ids are no Users of the tenant. */
export async function unknownUsers(tx: Tx, tenantId: string, ids: readonly string[]): Promise<string[]> {
  const asked = sql.array([...ids], 'uuid')
  const known = await tx.anyFirst(sql.type(idRow)`
    select id from memberships where tenant_id = ${tenantId} and kind = 'user' and id = any(${asked})
    union select id from directory_users where tenant_id = ${tenantId} and id = any(${asked})`)
  const found = new Set(known)
  return ids.filter((id) => !found.has(id))
}

const changedRow = z.object({ member_id: z.uuid() })

/** Adds Users to a group; the ids of those who were not in it. */
export async function addMembers(
  tx: Tx,
  { tenantId, id }: GroupKey,
  ids: readonly string[],
): Promise<string[]> {
  const added: string[] = []
  for (const values of listsOfValues(ids.map((member) => [tenantId, id, member])))
    added.push(
      ...(await tx.anyFirst(sql.type(changedRow)`
        insert into directory_group_members (tenant_id, group_id, member_id) ${values}
        on conflict do nothing returning member_id`)),
    )
  return added
}

/** Takes Users out of a group, or all of them; the ids of those who were in it. */
export function removeMembers(
  tx: Tx,
  { tenantId, id }: GroupKey,
  which: readonly string[] | 'all' | { but: readonly string[] },
): Promise<readonly string[]> {
  const these =
    which === 'all'
      ? sql.fragment`true`
      : 'but' in which
        ? sql.fragment`member_id <> all(${sql.array([...which.but], 'uuid')})`
        : sql.fragment`member_id = any(${sql.array([...which], 'uuid')})`
  return tx.anyFirst(sql.type(changedRow)`
    delete from directory_group_members where tenant_id = ${tenantId} and group_id = ${id} and ${these} returning member_id`)
}
