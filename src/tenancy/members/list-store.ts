import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { countRows } from '../../database/count-rows.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow } from '../../database/executor/row-schemas.ts'
import { sql } from '../../database/executor/transaction.ts'
import {
  byFlag,
  byId,
  byText,
  byWord,
  defineList,
  type Filter,
  type ListPage,
  type ListScope,
} from '../../lists/list.ts'
import { emailAddress } from '../../messages/mail/email-address.ts'
import { roleNameKey } from '../roles/store.ts'
import { externalId } from './name-member.ts'
import { type MemberRow, memberColumns, memberKinds, memberRow } from './store.ts'

const rolesNamed = (role: string | boolean, { tenantId }: ListScope) => sql.fragment`array(
  select r.id from roles r
  where r.tenant_id = ${tenantId} and (r.name_key = ${roleNameKey(String(role))} or r.id::text = ${String(role).toLowerCase()}))`

/** Members with a role, by its name or id. */
const byRole: Filter = {
  reveals: ['roles'],
  schema: z.string().trim().min(1, 'Name the role.').max(64, 'A role has at most 64 characters.'),
  where: (role, scope) => sql.fragment`
    m.id in (select mr.membership_id from membership_roles mr
             where mr.tenant_id = ${scope.tenantId} and mr.role_id = any(${rolesNamed(role, scope)}))`,
  // `offset 0` keeps the planner from joining, because a join loses the order and sorts all members that have the role.
  whereInOrder: (role, scope) => sql.fragment`
    exists (select 1 from membership_roles mr
            where mr.tenant_id = ${scope.tenantId} and mr.membership_id = m.id and mr.role_id = any(${rolesNamed(role, scope)}) offset 0)`,
}

const byActive: Filter = {
  reveals: ['is_active', 'user.is_active'],
  schema: byFlag(sql.fragment`m.is_active`).schema,
  // Without a parameter, so that the index of the few who are not active serves.
  where: (active) => (active ? sql.fragment`m.is_active` : sql.fragment`not m.is_active`),
}

// The list of users shows a person's fields at the top level, the list of members below `user`.
const email = ['email', 'user.email']
const ofPeople = {
  orderings: {
    created_at: {
      column: sql.fragment`m.joined_at`,
      field: 'joined_at',
      reveals: ['joined_at', 'date_joined', 'created_at'],
    },
    email: { column: sql.fragment`m.email`, field: 'email', reveals: email },
  },
  search: [
    { column: sql.fragment`m.email`, reveals: email },
    { column: sql.fragment`m.first_name_key`, reveals: ['first_name', 'user.first_name'] },
    { column: sql.fragment`m.last_name_key`, reveals: ['last_name', 'user.last_name'] },
  ],
}

/** The members of a tenant, service accounts included. */
export const memberList = defineList({
  ...ofPeople,
  id: { column: sql.fragment`m.id`, field: 'id' },
  filters: {
    role: byRole,
    kind: byWord(sql.fragment`m.kind`, memberKinds),
    status: byWord(sql.fragment`m.status`, ['active', 'suspended']),
    department_id: byId(sql.fragment`m.department_id`),
    manager_id: byId(sql.fragment`m.manager_id`),
    user_id: byId(sql.fragment`m.user_id`, 'user_id', 'user.id'),
    external_id: byText(sql.fragment`m.external_id`, externalId, 'external_id'),
  },
})

/** The members of a tenant as users. */
export const userList = defineList({
  ...ofPeople,
  id: { column: sql.fragment`m.id`, field: 'membership_id' },
  filters: {
    email: byText(sql.fragment`m.email`, emailAddress, ...email),
    is_active: byActive,
    role: byRole,
    department_id: byId(sql.fragment`m.department_id`),
  },
})

/** Up to this many matching rows are collected and sorted; above, walking an index in list order finds a page sooner. */
const maxSorted = 1_000

/** What a page has: all members, or people only. */
const kinds = { all: sql.fragment``, people: sql.fragment`and m.kind = 'user'` }

/**
 * A page of a tenant's members as `columns` of memberships `m`. The planner does not know how rare a role
 * or prefix is in one tenant: left alone, it walks all 100,000 members to find one owner, or collects all to show 20. So
 * the statement collects up to `maxSorted` matches and one more, and then runs one of its two halves. It collects them in
 * the order of an index: otherwise the planner may scan the rows of all tenants, in the hope of finding enough soon. A join
 * begins with an index anyway.
 */
export function pageOfMembers(
  columns: FragmentSqlToken,
  tenantId: string,
  page: ListPage,
  who: keyof typeof kinds,
): FragmentSqlToken {
  const all = sql.fragment`memberships m where m.tenant_id = ${tenantId} ${kinds[who]}`
  if (!page.filtered) return sql.fragment`select ${columns} from ${all} ${page.tail}`
  return sql.fragment`
    with few as materialized (
      select * from ${all} ${page.conditions}
      ${page.joins ? sql.fragment`` : sql.fragment`order by m.id`} limit ${maxSorted + 1}
    ), found as materialized (select count(*) <= ${maxSorted} as all_of_them from few)
    (select ${columns} from few m where (select all_of_them from found) ${page.end})
    union all
    (select ${columns} from ${all} and not (select all_of_them from found) ${page.tailInOrder})`
}

/** A page of the tenant's members. */
export function listMembers(read: Read, tenantId: string, page: ListPage): Promise<readonly MemberRow[]> {
  return read.any(sql.type(memberRow)`${pageOfMembers(memberColumns(tenantId), tenantId, page, 'all')}`)
}

/** Counts the members that match the filters. Without filters the count comes from `row_counts`. */
export function countMembers(tx: Read, tenantId: string, page: ListPage): Promise<number> {
  if (!page.filtered) return countRows(tx, tenantId, 'memberships')
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from memberships m where m.tenant_id = ${tenantId} ${page.conditions}`)
}

/** The same without service accounts. A tenant has few of them, so these are counted one by one. */
export function countPeople(read: Read, tenantId: string, page: ListPage): Promise<number> {
  const members = sql.fragment`memberships m where m.tenant_id = ${tenantId}`
  const count = page.filtered
    ? sql.fragment`(select count(*) from ${members} and m.kind = 'user' ${page.conditions})`
    : sql.fragment`
      coalesce((select rows from row_counts where tenant_id = ${tenantId} and relation = 'memberships'), 0)
        - (select count(*) from ${members} and m.kind = 'service_account')`
  return read.oneFirst(sql.type(countRow)`select ${count} as count`)
}
