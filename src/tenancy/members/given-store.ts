import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { systemRoles } from '../../policy-engine/catalogue/actions.ts'
import { firstExcess } from '../roles/grantable-roles.ts'
import { type RoleRow, roleRow } from '../roles/store.ts'

/** Members whom a change of groups or rules concerns: these, or those of a group. */
export type Concerned = { ids: readonly string[] } | { group: string }

/** The roles that these members have, each once. Reliable only while the tenant is locked. */
export const listRolesHeld = (tx: Tx, tenantId: string, which: Concerned): Promise<readonly RoleRow[]> =>
  tx.any(sql.type(roleRow)`
    select r.id, r.name, r.permissions, r.is_system from roles r
    where r.tenant_id = ${tenantId} and r.id in (
      select mr.role_id from membership_roles mr
      where mr.tenant_id = ${tenantId} and ${isOneOf(sql.fragment`mr.membership_id`, tenantId, which)})
    order by r.created_at, r.id`)

const givenRow = z.object({ membership_id: z.uuid() })
const memberRow = z.object({ id: z.uuid(), user_id: z.uuid() })

const isOneOf = (column: FragmentSqlToken, tenantId: string, which: Concerned): FragmentSqlToken =>
  'ids' in which
    ? sql.fragment`${column} = any(${sql.array([...which.ids], 'uuid')})`
    : sql.fragment`${column} in (select c.member_id from directory_group_members c
                                 where c.tenant_id = ${tenantId} and c.group_id = ${which.group})`

const giftRow = roleRow.extend({
  rule_id: z.uuid(),
  editor: z.object({
    systemRoles: z.array(z.enum(systemRoles)),
    permissions: z.array(z.string()),
    scopes: z.array(z.string()).nullish(),
  }),
})

/** What the rules of the members' groups give, as `rr (rule_id, role_id)`. No role has more by now than the editor of its rule held. */
async function giftsTo(tx: Tx, tenantId: string, which: Concerned): Promise<FragmentSqlToken> {
  const gifts = await tx.any(sql.type(giftRow)`
    select r.id as rule_id, r.editor, ro.id, ro.name, ro.permissions, ro.is_system
    from directory_rules r
    join directory_rule_roles rr on rr.tenant_id = ${tenantId} and rr.rule_id = r.id
    join roles ro on ro.tenant_id = ${tenantId} and ro.id = rr.role_id
    where r.tenant_id = ${tenantId} and r.group_id in (
      select g.group_id from directory_group_members g
      where g.tenant_id = ${tenantId} and ${isOneOf(sql.fragment`g.member_id`, tenantId, which)})`)
  const kept = gifts.filter((gift) => firstExcess(gift.editor, [gift]) === null)
  const [ruleIds, roleIds] = [kept.map((gift) => gift.rule_id), kept.map((gift) => gift.id)]
  return sql.fragment`unnest(${sql.array(ruleIds, 'uuid')}, ${sql.array(roleIds, 'uuid')}) as rr (rule_id, role_id)`
}

const missing = (
  tenantId: string,
  which: Concerned,
  gifts: FragmentSqlToken,
): FragmentSqlToken => sql.fragment`
  insert into membership_roles (tenant_id, membership_id, role_id, source)
  select distinct g.tenant_id, g.member_id, rr.role_id, 'directory'
  from directory_group_members g
  join directory_rules r on r.tenant_id = g.tenant_id and r.group_id = g.group_id
  join ${gifts} on rr.rule_id = r.id
  join memberships m on m.tenant_id = g.tenant_id and m.id = g.member_id and m.kind = 'user'
  where g.tenant_id = ${tenantId} and ${isOneOf(sql.fragment`g.member_id`, tenantId, which)}
  on conflict do nothing`

const moved = (tenantId: string, which: Concerned): FragmentSqlToken => sql.fragment`
  update memberships m set department_id = d.department_id
  from (select distinct on (g.member_id) g.member_id, r.department_id
        from directory_group_members g
        join directory_rules r on r.tenant_id = g.tenant_id and r.group_id = g.group_id
        where g.tenant_id = ${tenantId} and ${isOneOf(sql.fragment`g.member_id`, tenantId, which)}
          and r.department_id is not null
        order by g.member_id, r.created_at, r.id) d
  where m.tenant_id = ${tenantId} and m.id = d.member_id and m.kind = 'user'
    and m.department_id is distinct from d.department_id`

/** Gives members the roles of the rules of their groups that they lack. The tenant is locked. */
export async function giveRolesByRules(tx: Tx, tenantId: string, ids: readonly string[]): Promise<void> {
  const which = { ids }
  tx.later(sql.unsafe`${missing(tenantId, which, await giftsTo(tx, tenantId, which))}`)
}

/** Gives a new member what the rules of their groups give. */
export async function giveByRules(tx: Tx, tenantId: string, id: string): Promise<void> {
  await giveRolesByRules(tx, tenantId, [id])
  tx.later(sql.unsafe`${moved(tenantId, { ids: [id] })}`)
}

/**
 * Makes roles and departments of members what the rules of their groups say, and gives those whom it changed. A role that a
 * person or a connection gave stays, and a department that no rule gives. One that grew beyond the editor of its rule goes. The tenant is locked.
 */
export async function applyRules(
  tx: Tx,
  tenantId: string,
  which: Concerned,
  at: number,
): Promise<readonly z.infer<typeof memberRow>[]> {
  const gifts = await giftsTo(tx, tenantId, which)
  const changed = await Promise.all([
    tx.anyFirst(sql.type(givenRow)`
      delete from membership_roles mr
      where mr.tenant_id = ${tenantId} and mr.source = 'directory'
        and ${isOneOf(sql.fragment`mr.membership_id`, tenantId, which)}
        and not exists (
          select 1 from directory_group_members g
          join directory_rules r on r.tenant_id = g.tenant_id and r.group_id = g.group_id
          join ${gifts} on rr.rule_id = r.id
          where g.tenant_id = ${tenantId} and g.member_id = mr.membership_id and rr.role_id = mr.role_id)
      returning mr.membership_id`),
    tx.anyFirst(sql.type(givenRow)`${missing(tenantId, which, gifts)} returning membership_id`),
    tx.anyFirst(sql.type(givenRow)`${moved(tenantId, which)} returning m.id as membership_id`),
  ])
  const ids = [...new Set(changed.flat())]
  if (ids.length === 0) return []
  return tx.any(sql.type(memberRow)`
    update memberships set version = version + 1, updated_at = ${instant(at)}
    where tenant_id = ${tenantId} and id = any(${sql.array(ids, 'uuid')}) returning id, user_id`)
}
