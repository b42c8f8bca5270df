import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow } from '../../database/executor/row-schemas.ts'
import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { byId, defineList, type ListPage } from '../../lists/list.ts'
import type { Holder } from '../../tenancy/roles/grantable-roles.ts'

const ruleRow = z.object({
  id: z.uuid(),
  group_id: z.uuid(),
  group_name: z.string(),
  roles: z.array(z.uuid()),
  department_id: z.uuid().nullable(),
  created_at: z.number(),
})

/** What the members of a group get: roles by id, and a department. `created_at` in ms since 1970. */
export type RuleRow = z.infer<typeof ruleRow>

const columns = (tenantId: string) => sql.fragment`
  r.id, r.group_id, g.display_name as group_name, r.department_id, r.created_at,
  array(select rr.role_id from directory_rule_roles rr where rr.tenant_id = ${tenantId} and rr.rule_id = r.id
        order by rr.role_id) as roles`

const rules = (tenantId: string) => sql.fragment`
  directory_rules r join directory_groups g on g.tenant_id = r.tenant_id and g.id = r.group_id
  where r.tenant_id = ${tenantId}`

/** The rules of a tenant, in the order of their making. */
export const ruleList = defineList({
  id: { column: sql.fragment`r.id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`r.created_at`, field: 'created_at' } },
  filters: { group: byId(sql.fragment`r.group_id`) },
})

export const listRules = (read: Read, tenantId: string, page: ListPage): Promise<readonly RuleRow[]> =>
  read.any(sql.type(ruleRow)`select ${columns(tenantId)} from ${rules(tenantId)} ${page.tail}`)

export const countRules = (
  read: Read,
  tenantId: string,
  page?: Pick<ListPage, 'conditions'>,
): Promise<number> =>
  read.oneFirst(sql.type(countRow)`
    select count(*) from directory_rules r where r.tenant_id = ${tenantId} ${page?.conditions ?? sql.fragment``}`)

const nameRow = z.object({ name: z.string() })

const rolesRow = z.object({ roles: z.array(z.string()) })

/** The names of the roles that the rules of a group give; null if it has no rule. */
export const findRolesOfGroup = (tx: Tx, tenantId: string, groupId: string): Promise<string[] | null> =>
  tx.maybeOneFirst(sql.type(rolesRow)`
    select coalesce(array_agg(distinct ro.name order by ro.name) filter (where ro.name is not null), '{}') as roles
    from directory_rules r
    left join directory_rule_roles rr on rr.tenant_id = ${tenantId} and rr.rule_id = r.id
    left join roles ro on ro.tenant_id = ${tenantId} and ro.id = rr.role_id
    where r.tenant_id = ${tenantId} and r.group_id = ${groupId} having count(*) > 0`)

interface RuleKey {
  tenantId: string
  id: string
}

/** One rule of the tenant, or null. */
export const findRule = (read: Read, { tenantId, id }: RuleKey): Promise<RuleRow | null> =>
  read.maybeOne(sql.type(ruleRow)`select ${columns(tenantId)} from ${rules(tenantId)} and r.id = ${id}`)

/** The name of a group, or null. The store of groups would load the filters of SCIM, which most processes never need. */
export const findGroupName = (read: Read, { tenantId, id }: RuleKey): Promise<string | null> =>
  read.maybeOneFirst(sql.type(nameRow)`
    select display_name as name from directory_groups where tenant_id = ${tenantId} and id = ${id}`)

interface NewRule extends RuleKey {
  groupId: string
  roleIds: readonly string[]
  departmentId: string | null
  /** What the person who writes the rule holds. */
  editor: Holder
  at: number
}

export function insertRule(
  tx: Tx,
  { tenantId, id, groupId, roleIds, departmentId, editor, at }: NewRule,
): void {
  tx.later(sql.unsafe`
    insert into directory_rules (tenant_id, id, group_id, department_id, editor, created_at)
    values (${tenantId}, ${id}, ${groupId}, ${departmentId}, ${sql.jsonb({ ...editor })}, ${instant(at)})`)
  for (const values of listsOfValues(roleIds.map((role) => [tenantId, id, role])))
    tx.later(sql.unsafe`insert into directory_rule_roles (tenant_id, rule_id, role_id) ${values}`)
}

export function deleteRule(tx: Tx, { tenantId, id }: RuleKey): void {
  tx.later(sql.unsafe`delete from directory_rules where tenant_id = ${tenantId} and id = ${id}`)
}
