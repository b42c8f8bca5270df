import type { FragmentSqlToken } from 'slonik'
import { sql } from '../../database/executor/transaction.ts'
import { invalidField } from '../../errors.ts'
import { type Compared, conditionOf } from '../filter-store.ts'
import { attributePath } from '../resource/attribute-path.ts'
import { userType } from '../schema/attributes.ts'
import type { ListedBy } from '../scim-schemas.ts'

// Users are of two kinds: members, with or without a row in directory_users, and those that wait. Each kind has a statement of
// its own, so that an index of its tables serves; in both `m` and `d` are the tables, and the one that has no row is null.

const kinds = ['member', 'pending'] as const
type Kind = (typeof kinds)[number]

interface Column {
  type: Compared['type']
  of: Record<Kind, FragmentSqlToken>
  /** The members that have a value, by indexes. */
  membersWith?: (tenantId: string, value: string) => FragmentSqlToken
}

/** A member whom no directory has described has the address that they have proven: members can claim addresses of others. */
const provenEmail = sql.fragment`case when m.email_verified then m.email end`

const both = (member: FragmentSqlToken, pending: FragmentSqlToken) => ({ member, pending })

/** The attributes that filters can compare, by their paths in lower case. */
const comparable: Record<string, Column> = {
  id: { type: 'id', of: both(sql.fragment`m.id`, sql.fragment`d.id`) },
  username: {
    type: 'text',
    of: both(sql.fragment`coalesce(d.user_name_key, ${provenEmail})`, sql.fragment`d.user_name_key`),
    membersWith: (tenantId, value) => sql.fragment`
      select id from directory_users where tenant_id = ${tenantId} and user_name_key = ${value}
      union all select id from memberships where tenant_id = ${tenantId} and email = ${value} and email_verified`,
  },
  externalid: { type: 'exact', of: both(sql.fragment`m.external_id`, sql.fragment`d.external_id`) },
  'emails.value': {
    type: 'text',
    of: both(sql.fragment`coalesce(d.email, ${provenEmail})`, sql.fragment`d.email`),
    membersWith: (tenantId, value) => sql.fragment`
      select id from directory_users where tenant_id = ${tenantId} and email = ${value}
      union all select id from memberships where tenant_id = ${tenantId} and email = ${value} and email_verified`,
  },
  displayname: {
    type: 'text',
    of: both(
      sql.fragment`lower(coalesce(d.display_name, m.first_name || ' ' || m.last_name))`,
      sql.fragment`lower(d.display_name)`,
    ),
  },
  active: {
    type: 'boolean',
    of: both(sql.fragment`(m.status = 'active' and m.is_active)`, sql.fragment`d.active`),
  },
  'meta.created': {
    type: 'time',
    of: both(sql.fragment`coalesce(d.created_at, m.joined_at)`, sql.fragment`d.created_at`),
  },
  'meta.lastmodified': {
    type: 'time',
    of: both(sql.fragment`greatest(m.updated_at, d.updated_at)`, sql.fragment`d.updated_at`),
  },
}
comparable.emails = comparable['emails.value']!

/** The column of a path; undefined for an attribute that cannot be compared. */
function columnOf(path: string): Column | undefined {
  const found = attributePath(userType, path)
  if (!found?.attribute || found.extension || found.filter) return undefined
  const { attribute, sub } = found
  return comparable[`${attribute.name}${sub ? `.${sub.name}` : ''}`.toLowerCase()]
}

/** The statements of a query: the ids of each kind with their position, and the count. 400 `invalid_filter`. */
export function branchesOf(tenantId: string, query: ListedBy) {
  const { filter, startIndex, count, descending } = query
  const sort = sortOf(query)
  const last = startIndex - 1 + count
  const where = (kind: Kind) =>
    filter
      ? sql.fragment`and ${conditionOf(filter, (path) => comparedIn(tenantId, kind, path))}`
      : sql.fragment``
  const direction = descending ? sql.fragment`desc` : sql.fragment`asc`
  const from = {
    member: sql.fragment`
      from memberships m left join directory_users d on d.tenant_id = ${tenantId} and d.id = m.id
      where m.tenant_id = ${tenantId} and m.kind = 'user' ${where('member')}`,
    pending: sql.fragment`
      from directory_users d left join memberships m on m.tenant_id = ${tenantId} and m.id = d.id
      where d.tenant_id = ${tenantId} and d.is_pending and m.id is null ${where('pending')}`,
  }
  const page = (kind: Kind) => {
    const id = comparable.id!.of[kind]
    return sql.fragment`
      select ${id} as id, ${sort.of[kind]} as key ${from[kind]} order by ${sort.of[kind]} ${direction}, ${id} limit ${last}`
  }
  const all = (kind: Kind) => sql.fragment`(select count(*) ${from[kind]})`
  // Service accounts are few, and the rows of memberships are counted as they change.
  const members = filter
    ? all('member')
    : sql.fragment`
      coalesce((select rows from row_counts where tenant_id = ${tenantId} and relation = 'memberships'), 0)
        - (select count(*) from memberships where tenant_id = ${tenantId} and kind = 'service_account')`
  return {
    page: sql.fragment`
      select id, row_number() over (order by key ${direction}, id) as position
      from ((${page('member')}) union all (${page('pending')})) both_kinds
      order by key ${direction}, id limit ${count} offset ${startIndex - 1}`,
    counted: sql.fragment`${members} + ${all('pending')}`,
  }
}

function sortOf({ sortBy }: ListedBy): Column {
  if (sortBy === null) return comparable.id!
  const column = columnOf(sortBy)
  if (!column) throw invalidField('sortBy', `Users cannot be sorted by ${sortBy.slice(0, 200)}.`)
  return column
}

/** What a path is in the statement of a kind. */
function comparedIn(tenantId: string, kind: Kind, path: string): Compared | undefined {
  const column = columnOf(path)
  if (!column) return undefined
  const { type, of, membersWith } = column
  const value = of[kind]
  if (kind !== 'member' || !membersWith) return { type, value }
  const equals = (given: string) =>
    sql.fragment`(${value} = ${given} and m.id in (${membersWith(tenantId, given)}))`
  return { type, value, equals }
}
