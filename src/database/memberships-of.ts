import type { FragmentSqlToken } from 'slonik'
import type { Read } from './executor/read.ts'
import { sql } from './executor/transaction.ts'

/** The number of members of a tenant, from its counter. */
export const memberCount = (tenantId: FragmentSqlToken): FragmentSqlToken => sql.fragment`
  coalesce((select c.rows from row_counts c where c.tenant_id = ${tenantId} and c.relation = 'memberships'), 0)`

/** The names of the roles that the membership `m` has in a tenant. */
export const roleNames = (tenantId: FragmentSqlToken): FragmentSqlToken => sql.fragment`
  array(select r.name from membership_roles mr join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
        where mr.tenant_id = ${tenantId} and mr.membership_id = m.id order by r.created_at, r.id)`

const ofMembership = sql.fragment`m.tenant_id`

/**
 * The memberships of a person in all tenants, to select from: tenant_id, id, status, joined_at, last_entered_at, member_count, roles. As
 * the system role. One Postgres counts members and finds roles for the rows of a page only. On a cluster the function memberships_of
 * asks the nodes of the person's tenants, in place of every node, and finds both for each.
 */
export const membershipsOf = (
  { distributed }: Pick<Read, 'distributed'>,
  userId: string,
): FragmentSqlToken =>
  distributed
    ? sql.fragment`(
        select m.tenant_id, m.membership_id as id, m.status, m.joined_at, m.last_entered_at, m.member_count, m.roles
        from memberships_of(${userId}) m)`
    : sql.fragment`(
        select m.tenant_id, m.id, m.status, m.joined_at, m.last_entered_at, ${memberCount(ofMembership)} as member_count,
               ${roleNames(ofMembership)} as roles
        from memberships m where m.user_id = ${userId})`
