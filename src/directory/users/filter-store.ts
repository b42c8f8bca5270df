import type { FragmentSqlToken } from 'slonik'
import { isUuid } from '../../crypto/uuid.ts'
import { sql } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { invalidField } from '../../errors.ts'
import { attributePath } from '../resource/attribute-path.ts'
import type { Filter } from '../resource/parse-filter.ts'
import { userType } from '../schema/attributes.ts'
import { scimFault } from '../scim-error.ts'

/** What Users are asked for. `startIndex` begins at 1. */
export interface UserQuery {
  filter: Filter | null
  sortBy: string | null
  descending: boolean
  startIndex: number
  count: number
}

// Users are of two kinds: members, with or without a row in directory_users, and those that wait. Each kind has a statement of
// its own, so that an index of its tables serves; in both `m` and `d` are the tables, and the one that has no row is null.

const kinds = ['member', 'pending'] as const
type Kind = (typeof kinds)[number]

interface Column {
  type: 'text' | 'exact' | 'id' | 'boolean' | 'time'
  of: Record<Kind, FragmentSqlToken>
  /** The members that have a value, by indexes. */
  membersWith?: (tenantId: string, value: string) => FragmentSqlToken
}

const both = (member: FragmentSqlToken, pending: FragmentSqlToken) => ({ member, pending })

/** The attributes that filters can compare, by their paths in lower case. */
const comparable: Record<string, Column> = {
  id: { type: 'id', of: both(sql.fragment`m.id`, sql.fragment`d.id`) },
  username: {
    type: 'text',
    of: both(sql.fragment`coalesce(d.user_name_key, m.email)`, sql.fragment`d.user_name_key`),
    membersWith: (tenantId, value) => sql.fragment`
      select id from directory_users where tenant_id = ${tenantId} and user_name_key = ${value}
      union all select id from memberships where tenant_id = ${tenantId} and email = ${value}`,
  },
  externalid: { type: 'exact', of: both(sql.fragment`m.external_id`, sql.fragment`d.external_id`) },
  'emails.value': {
    type: 'text',
    of: both(sql.fragment`coalesce(d.email, m.email)`, sql.fragment`d.email`),
    membersWith: (tenantId, value) => sql.fragment`
      select id from directory_users where tenant_id = ${tenantId} and email = ${value}
      union all select id from memberships where tenant_id = ${tenantId} and email = ${value}`,
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
export function branchesOf(tenantId: string, query: UserQuery) {
  const { filter, startIndex, count, descending } = query
  const sort = sortOf(query)
  const last = startIndex - 1 + count
  const where = (kind: Kind) =>
    filter ? sql.fragment`and ${conditionOf(filter, { tenantId, kind })}` : sql.fragment``
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

function sortOf({ sortBy }: UserQuery): Column {
  if (sortBy === null) return comparable.id!
  const column = columnOf(sortBy)
  if (!column) throw invalidField('sortBy', `Users cannot be sorted by ${sortBy.slice(0, 200)}.`)
  return column
}

interface Place {
  tenantId: string
  kind: Kind
}

const unfit = (what: string) =>
  scimFault(
    'invalid_filter',
    `Users cannot be filtered by ${what.slice(0, 200)}. Filters know userName, externalId, id, emails.value, displayName, active, meta.created and meta.lastModified.`,
  )

function conditionOf(filter: Filter, place: Place): FragmentSqlToken {
  switch (filter.op) {
    case 'and':
    case 'or': {
      const parts = filter.filters.map((one) => conditionOf(one, place))
      return sql.fragment`(${sql.join(parts, filter.op === 'and' ? sql.fragment` and ` : sql.fragment` or `)})`
    }
    case 'not':
      return sql.fragment`((${conditionOf(filter.filter, place)}) is not true)`
    case '[]':
      return conditionOf(below(filter.attrPath, filter.valFilter), place)
    default:
      return comparison(filter, place)
  }
}

/** The filter of a value path with the paths of its parts written out: `emails[value eq "x"]`. */
function below(path: string, filter: Filter): Filter {
  if ('filters' in filter) return { ...filter, filters: filter.filters.map((one) => below(path, one)) }
  if ('filter' in filter) return { ...filter, filter: below(path, filter.filter) }
  return { ...filter, attrPath: `${path}.${filter.attrPath}` }
}

type Comparison = Extract<Filter, { attrPath: string; op: Exclude<Filter['op'], '[]'> }>

function comparison(filter: Comparison, { tenantId, kind }: Place): FragmentSqlToken {
  const column = columnOf(filter.attrPath)
  if (!column) throw unfit(filter.attrPath)
  const value = column.of[kind]
  if (filter.op === 'pr') return sql.fragment`(${value} is not null)`
  const { op, compValue } = filter as Extract<Filter, { compValue: unknown }>
  if (compValue === null) {
    if (op !== 'eq' && op !== 'ne') throw unfit(`${filter.attrPath} ${op} null`)
    return op === 'eq' ? sql.fragment`(${value} is null)` : sql.fragment`(${value} is not null)`
  }
  switch (column.type) {
    case 'boolean':
      return ofFlag(value, op, compValue) ?? refuse(filter.attrPath, op)
    case 'time':
      return ofTime(value, op, compValue) ?? refuse(filter.attrPath, op)
    case 'id':
      if (op === 'eq')
        return isUuid(String(compValue))
          ? sql.fragment`(${value} = ${String(compValue)})`
          : sql.fragment`false`
      return ofText(sql.fragment`${value}::text`, op, String(compValue).toLowerCase())
    default: {
      const given = column.type === 'text' ? String(compValue).toLowerCase() : String(compValue)
      const { membersWith } = column
      const is = ofText(value, op, given)
      return op === 'eq' && kind === 'member' && membersWith
        ? sql.fragment`(${is} and m.id in (${membersWith(tenantId, given)}))`
        : is
    }
  }
}

const refuse = (path: string, op: string): never => {
  throw unfit(`${path} ${op}`)
}

function ofFlag(value: FragmentSqlToken, op: string, given: unknown): FragmentSqlToken | null {
  const flag = typeof given === 'boolean' ? given : /^true$/i.test(String(given))
  if (op === 'eq') return sql.fragment`(${value} = ${flag})`
  return op === 'ne' ? sql.fragment`(${value} is distinct from ${flag})` : null
}

function ofTime(value: FragmentSqlToken, op: string, given: unknown): FragmentSqlToken | null {
  const at = Date.parse(String(given))
  if (Number.isNaN(at)) return null
  const sign = signs[op]
  return sign ? sql.fragment`(${value} ${sign} ${instant(at)})` : null
}

const signs: Record<string, FragmentSqlToken> = {
  eq: sql.fragment`=`,
  ne: sql.fragment`is distinct from`,
  gt: sql.fragment`>`,
  ge: sql.fragment`>=`,
  lt: sql.fragment`<`,
  le: sql.fragment`<=`,
}

function ofText(value: FragmentSqlToken, op: string, given: string): FragmentSqlToken {
  if (op === 'co') return sql.fragment`(strpos(${value}, ${given}) > 0)`
  if (op === 'sw') return sql.fragment`starts_with(${value}, ${given})`
  if (op === 'ew') return sql.fragment`(right(${value}, char_length(${given})) = ${given})`
  return sql.fragment`(${value} ${signs[op]!} ${given})`
}
