import { z } from 'zod'
import { countRows } from '../../platform/db/count-rows.ts'
import {
  byFlag,
  byId,
  byText,
  byWord,
  defineList,
  type Filter,
  type ListPage,
} from '../../platform/db/list.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { emailAddress } from '../../platform/email-address.ts'
import { roleNameKey } from '../roles/store.ts'
import { type MemberRow, memberColumns, memberRow } from './store.ts'

/** Members whose roles include the one named, by name or id. */
const byRole: Filter = {
  reveals: ['roles'],
  schema: z.string().trim().min(1, 'Name the role.').max(64, 'A role has 64 characters at most.'),
  where: (role) => sql.fragment`
    m.id in (select mr.membership_id from membership_roles mr
             where mr.tenant_id = m.tenant_id and mr.role_id = any(array(
               select r.id from roles r
               where r.name_key = ${roleNameKey(String(role))} or r.id::text = ${String(role).toLowerCase()})))`,
}

/** Nearly everybody is active: the few who are not are looked for, in place of everybody else. */
const byActive: Filter = {
  reveals: ['is_active', 'user.is_active'],
  schema: byFlag(sql.fragment`u.is_active`).schema,
  where: (active) => sql.fragment`
    m.user_id ${active ? sql.fragment`not in` : sql.fragment`in`} (select i.id from users i where not i.is_active)`,
}

// The same person stands flat in the list of users and as `user` in that of members.
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

/** The members of a tenant. */
export const memberList = defineList({
  ...ofPeople,
  id: { column: sql.fragment`m.id`, field: 'id' },
  filters: {
    role: byRole,
    status: byWord(sql.fragment`m.status`, ['active', 'suspended']),
    department_id: byId(sql.fragment`m.department_id`),
    user_id: byId(sql.fragment`m.user_id`, 'user_id', 'user.id'),
  },
})

/** The same people as users. */
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

/** Up to so many rows are gathered and sorted; of more, an index in the order of the list soon finds a page. */
const few = 1_000

/**
 * The end of a list's query from `from`, with `count` entries in all. The planner does not know how rare a role or a
 * prefix is in one tenant: it walks all 100,000 members to find the one owner, or gathers them all to show 20.
 */
export const pageOfMembers = (tenantId: string, page: ListPage, count: number) =>
  page.filtered && count <= few
    ? sql.fragment`(select * from memberships m where m.tenant_id = ${tenantId} ${page.conditions} offset 0) m
        join users u on u.id = m.user_id where true ${page.end}`
    : sql.fragment`memberships m join users u on u.id = m.user_id where m.tenant_id = ${tenantId} ${page.tail}`

/** A page of the tenant's members, of whom there are `count` behind the filters. */
export function listMembers(
  tx: Tx,
  tenantId: string,
  page: ListPage,
  count: number,
): Promise<readonly MemberRow[]> {
  return tx.any(sql.type(memberRow)`select ${memberColumns} from ${pageOfMembers(tenantId, page, count)}`)
}

/** How many members of the tenant the filters leave; all of them from the counter. */
export function countMembers(tx: Tx, tenantId: string, page: ListPage): Promise<number> {
  if (!page.filtered) return countRows(tx, tenantId, 'memberships')
  return tx.oneFirst(sql.type(z.object({ count: z.number() }))`
    select count(*) from memberships m where m.tenant_id = ${tenantId} ${page.conditions}`)
}
