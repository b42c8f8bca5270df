import { z } from 'zod'
import { idRow } from '../../database/executor/row-schemas.ts'
import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { lockTenant } from '../../database/revisions.ts'
import { giveRolesByRules } from './given-store.ts'

interface RolesOfMember {
  tenantId: string
  memberId: string
  roleIds: readonly string[]
}

/** Gives each of these members, who have none of them yet, their roles. */
export function giveRoles(
  tx: Tx,
  tenantId: string,
  members: readonly Omit<RolesOfMember, 'tenantId'>[],
): void {
  const rows = members.flatMap(({ memberId, roleIds }) =>
    roleIds.map((roleId) => [tenantId, memberId, roleId]),
  )
  for (const values of listsOfValues(rows))
    tx.later(sql.unsafe`insert into membership_roles (tenant_id, membership_id, role_id) ${values}`)
}

/** Gives a member these roles. One that they have by a connection or a directory becomes manual, unless `keepsSource`. */
export function addRoles(
  tx: Tx,
  { tenantId, memberId, roleIds, keepsSource = false }: RolesOfMember & { keepsSource?: boolean },
): void {
  const onConflict = keepsSource
    ? sql.fragment`do nothing`
    : sql.fragment`(tenant_id, membership_id, role_id) do update set source = 'manual', connection_id = null`
  for (const values of listsOfValues(roleIds.map((roleId) => [tenantId, memberId, roleId])))
    tx.later(sql.unsafe`
      insert into membership_roles (tenant_id, membership_id, role_id) ${values} on conflict ${onConflict}`)
}

/** Gives a member exactly these roles. Those that they have keep their source. */
export function replaceRoles(tx: Tx, { tenantId, memberId, roleIds }: RolesOfMember): void {
  tx.later(sql.unsafe`
    delete from membership_roles
    where tenant_id = ${tenantId} and membership_id = ${memberId} and role_id <> all(${sql.array(roleIds, 'uuid')})`)
  addRoles(tx, { tenantId, memberId, roleIds, keepsSource: true })
}

const givenRow = z.object({ role_id: z.uuid() })

/** What gives roles by itself, without a person. */
export type RoleSource =
  | { source: 'connection'; connectionId: string }
  | { source: 'directory'; connectionId: null }

/**
 * Gives a member these roles, as far as they lack them, and takes back what the same source gave before. Roles of other sources stay.
 * Returns whether that changed anything. The member is locked.
 */
export async function changeRolesOf(
  tx: Tx,
  { tenantId, memberId, roleIds, source, connectionId }: RolesOfMember & RoleSource,
): Promise<boolean> {
  const rows = roleIds.map((roleId) => [tenantId, memberId, roleId, source, connectionId])
  const changed = await Promise.all([
    tx.any(sql.type(givenRow)`
      delete from membership_roles
      where tenant_id = ${tenantId} and membership_id = ${memberId} and source = ${source}
        and connection_id is not distinct from ${connectionId}::uuid and role_id <> all(${sql.array(roleIds, 'uuid')})
      returning role_id`),
    ...listsOfValues(rows).map((values) =>
      tx.any(sql.type(givenRow)`
        insert into membership_roles (tenant_id, membership_id, role_id, source, connection_id) ${values}
        on conflict do nothing returning role_id`),
    ),
  ])
  const [taken = []] = changed
  if (taken.length > 0) await giveWhatRulesGive(tx, tenantId, [memberId])
  return changed.flat().length > 0
}

/** A role that a connection and a rule of a directory give belongs to the first: when that goes, the rule still gives it. */
async function giveWhatRulesGive(tx: Tx, tenantId: string, ids: readonly string[]): Promise<void> {
  await lockTenant(tx, tenantId)
  await giveRolesByRules(tx, tenantId, ids)
}

/** Takes back the roles that a connection gave, as far as no rule of a directory gives them. `at` in ms since 1970. */
export async function takeRolesOfConnection(
  tx: Tx,
  { tenantId, id, at }: { tenantId: string; id: string; at: number },
): Promise<void> {
  const ids = await tx.anyFirst(sql.type(idRow)`
    update memberships set version = version + 1, updated_at = ${instant(at)}
    where tenant_id = ${tenantId} and id in (
      select membership_id from membership_roles where tenant_id = ${tenantId} and connection_id = ${id})
    returning id`)
  tx.later(sql.unsafe`delete from membership_roles where tenant_id = ${tenantId} and connection_id = ${id}`)
  if (ids.length > 0) await giveWhatRulesGive(tx, tenantId, ids)
}
