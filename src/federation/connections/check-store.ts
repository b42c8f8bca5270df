import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { systemRoles } from '../../policy-engine/catalogue/actions.ts'
import type { Holder } from '../../tenancy/roles/grantable-roles.ts'
import { type ConnectionKey, type ConnectionRow, samlConfig } from './store.ts'

const dueRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  version: z.number(),
  tenant_name: z.string(),
  saml: samlConfig.nullable(),
})

/** An active connection that is to be checked; `saml`: null for one of OpenID Connect. */
export type DueConnection = z.infer<typeof dueRow>

/** Up to `limit` active connections that were last checked before `before` (ms since 1970). As the worker role. */
export function listDue(read: Read, before: number, limit: number): Promise<readonly DueConnection[]> {
  return read.any(sql.type(dueRow)`
    select c.tenant_id, c.id, c.version, t.name as tenant_name, case when c.kind = 'saml' then c.config end as saml
    from connections c join tenants t on t.id = c.tenant_id
    where c.status = 'active' and coalesce(c.checked_at, c.activated_at) <= ${instant(before)} and t.deleted_at is null
    order by coalesce(c.checked_at, c.activated_at) limit ${limit}`)
}

/** What the person who activated a connection held then. */
export const activator = z.object({
  systemRoles: z.array(z.enum(systemRoles)),
  permissions: z.array(z.string()),
})

const checkedRow = z.object({
  name: z.string(),
  /** ms since 1970 */
  checked_before: z.number(),
  activated_by: z.uuid(),
  activator,
  activator_left_at: z.number().nullable(),
})

/** A check of a connection at `at` (ms since 1970). */
export interface ConnectionCheck extends ConnectionKey {
  version: number
  at: number
  /** What its metadata says now; null: as before. */
  config: ConnectionRow['config'] | null
  /** Those that were checked since are left alone. */
  checkedBefore: number
}

/** Records a check. Null if another process checked the connection meanwhile, or it was changed. */
export function recordCheck(
  tx: Tx,
  { tenantId, id, version, at, config, checkedBefore }: ConnectionCheck,
): Promise<z.infer<typeof checkedRow> | null> {
  const changed = config && sql.fragment`config = ${sql.jsonb(config)}, version = c.version + 1,`
  return tx.maybeOne(sql.type(checkedRow)`
    update connections c set ${changed ?? sql.fragment``} checked_at = ${instant(at)}
    from connections was
    where c.tenant_id = ${tenantId} and c.id = ${id} and c.status = 'active' and c.version = ${version}
      and coalesce(c.checked_at, c.activated_at) <= ${instant(checkedBefore)}
      and was.tenant_id = ${tenantId} and was.id = c.id
    returning c.name, coalesce(was.checked_at, was.activated_at) as checked_before, c.activated_by, c.activator,
      c.activator_left_at`)
}

/** Records that the activator of a locked connection holds less than at its activation. */
export function markActivatorLeft(tx: Tx, { tenantId, id, at }: ConnectionKey & { at: number }): void {
  tx.later(sql.unsafe`
    update connections set activator_left_at = ${instant(at)}, version = version + 1
    where tenant_id = ${tenantId} and id = ${id}`)
}

const holderRow = z.object({ system_roles: z.array(z.enum(systemRoles)), permissions: z.array(z.string()) })

/** What an active member of the tenant holds; nothing for everyone else. */
export async function holderIn(tx: Tx, tenantId: string, userId: string): Promise<Holder> {
  const { system_roles, permissions } = await tx.one(sql.type(holderRow)`
    select coalesce(array_agg(distinct r.name) filter (where r.is_system), '{}') as system_roles,
      coalesce(array_agg(distinct p) filter (where p is not null), '{}') as permissions
    from memberships m
    join membership_roles mr on mr.tenant_id = ${tenantId} and mr.membership_id = m.id
    join roles r on r.tenant_id = ${tenantId} and r.id = mr.role_id
    left join lateral unnest(r.permissions) p on not r.is_system
    where m.tenant_id = ${tenantId} and m.user_id = ${userId} and m.status = 'active' and m.is_active`)
  return { systemRoles: system_roles, permissions }
}
