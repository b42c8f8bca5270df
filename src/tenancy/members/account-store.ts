import { z } from 'zod'
import { addToCount } from '../../database/count-rows.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { defineList, type Filter, type ListPage } from '../../lists/list.ts'
import { giveRoles } from './roles-store.ts'

const accountRow = z.object({
  id: z.uuid(),
  name: z.string(),
  name_key: z.string(),
  description: z.string(),
  roles: z.array(z.string()),
  department_id: z.uuid().nullable(),
  attributes: z.record(z.string(), z.unknown()),
  status: z.enum(['active', 'suspended']),
  created_by: z.uuid().nullable(),
  created_at: z.number(),
  last_used_at: z.number().nullable(),
  version: z.number(),
})

/** A service account. Its id is also that of its membership. */
export type AccountRow = z.infer<typeof accountRow>

const columns = (tenantId: string) => sql.fragment`
  m.id, m.first_name as name, m.first_name_key as name_key, m.description, m.department_id, m.attributes, m.status,
  m.created_by, m.joined_at as created_at, m.version,
  greatest(
    (select max(k.last_used_at) from api_keys k where k.tenant_id = ${tenantId} and k.membership_id = m.id),
    (select max(c.last_used_at) from oauth_clients c where c.tenant_id = ${tenantId} and c.service_account_id = m.id)) as last_used_at,
  array(select r.name from membership_roles mr join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
        where mr.tenant_id = ${tenantId} and mr.membership_id = m.id order by r.created_at, r.id) as roles`

const accountsOf = (tenantId: string) =>
  sql.fragment`memberships m where m.tenant_id = ${tenantId} and m.kind = 'service_account'`

const statuses = { active: 'active', disabled: 'suspended' } as const
export type AccountStatus = keyof typeof statuses

/** The status of a service account, as its membership stores it. */
export const storedStatus = (shown: AccountStatus): AccountRow['status'] => statuses[shown]

/** The status of a membership, as a service account shows it. */
export const shownStatus = (stored: AccountRow['status']): AccountStatus =>
  stored === 'active' ? 'active' : 'disabled'

const byStatus: Filter = {
  schema: z.enum(['active', 'disabled'], 'The status is active or disabled.'),
  where: (status) => sql.fragment`m.status = ${statuses[status as AccountStatus]}`,
}

/** The service accounts of a tenant. */
export const accountList = defineList({
  id: { column: sql.fragment`m.id`, field: 'id' },
  orderings: {
    created_at: { column: sql.fragment`m.joined_at`, field: 'created_at' },
    name: { column: sql.fragment`m.first_name_key`, field: 'name_key' },
  },
  filters: { status: byStatus },
  search: [{ column: sql.fragment`m.first_name_key`, reveals: ['name'] }],
})

/** A page of the tenant's service accounts. */
export function listAccounts(read: Read, tenantId: string, page: ListPage): Promise<readonly AccountRow[]> {
  return read.any(sql.type(accountRow)`select ${columns(tenantId)} from ${accountsOf(tenantId)} ${page.tail}`)
}

/** How many service accounts match the filters; without `page`, how many there are. */
export function countAccounts(read: Read, tenantId: string, page?: ListPage): Promise<number> {
  return read.oneFirst(sql.type(countRow)`
    select count(*) from ${accountsOf(tenantId)} ${page?.conditions ?? sql.fragment``}`)
}

/** One service account of the tenant, or null. */
export function findAccount(read: Read, tenantId: string, id: string): Promise<AccountRow | null> {
  return read.maybeOne(
    sql.type(accountRow)`select ${columns(tenantId)} from ${accountsOf(tenantId)} and m.id = ${id}`,
  )
}

interface AccountValues {
  tenantId: string
  id: string
  name: string
  description: string
  departmentId: string | null
  attributes: Record<string, unknown>
  /** ms since 1970 */
  at: number
}

/** Inserts a service account with its roles. */
export function insertAccount(
  tx: Tx,
  account: AccountValues & { roleIds: readonly string[]; createdBy: string },
): void {
  const { tenantId, id, name, description, departmentId, attributes, roleIds, createdBy } = account
  const at = instant(account.at)
  tx.later(sql.unsafe`
    insert into memberships (tenant_id, id, kind, email, first_name, description, department_id, attributes,
                             created_by, joined_at, updated_at)
    values (${tenantId}, ${id}, 'service_account', '', ${name}, ${description}, ${departmentId},
            ${sql.jsonb(attributes as never)}, ${createdBy}, ${at}, ${at})`)
  addToCount(tx, tenantId, 'memberships')
  giveRoles(tx, tenantId, [{ memberId: id, roleIds }])
}

/** Updates a service account. The caller has locked the tenant. */
export function changeAccount(tx: Tx, account: AccountValues & { status: AccountRow['status'] }): void {
  const { tenantId, id, name, description, status, departmentId, attributes, at } = account
  tx.later(sql.unsafe`
    update memberships set first_name = ${name}, description = ${description}, status = ${status},
                           department_id = ${departmentId}, attributes = ${sql.jsonb(attributes as never)},
                           version = version + 1, updated_at = ${instant(at)}
    where tenant_id = ${tenantId} and id = ${id}`)
}

/** Notes that a person can sign in as a machine that acts as a service account. The caller has locked the tenant. */
export function noteMachineKeeper(tx: Tx, account: { tenantId: string; id: string; userId: string }): void {
  const { tenantId, id, userId } = account
  tx.later(sql.unsafe`
    update memberships set machine_keepers = machine_keepers || ${userId}::uuid
    where tenant_id = ${tenantId} and id = ${id} and not ${userId} = any(machine_keepers)`)
}

/** Deletes the trusts of a service account, which are of no use without it. */
export function deleteTrusts(tx: Tx, { tenantId, id }: { tenantId: string; id: string }): void {
  tx.later(sql.unsafe`
    delete from oauth_clients where tenant_id = ${tenantId} and service_account_id = ${id} and trust is not null`)
}

/** Whether a person made a key or a machine of a service account, which may be over by now. */
export const hasMadeKeyOf = (
  tx: Read,
  { tenantId, accountId, userId }: { tenantId: string; accountId: string; userId: string },
): Promise<boolean> =>
  tx.exists(sql.unsafe`
    select 1 from api_keys where tenant_id = ${tenantId} and account_id = ${accountId} and created_by = ${userId}
    union all
    select 1 from memberships
    where tenant_id = ${tenantId} and id = ${accountId} and ${userId} = any(machine_keepers)`)
