import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../database/executor/transaction.ts'
import { revise } from '../../database/revisions.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, managedByApplication } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { assertHolds, holderOf } from './grantable-roles.ts'
import { auditedRole, type RoleChange } from './role-schemas.ts'
import { changeRole, type RoleDetailRow, roleNameKey } from './store.ts'

const systemRole = () =>
  new ApiError(
    409,
    'system_role',
    'System roles are the same in every tenant and cannot be changed. Create a role of your own.',
  )

/** Throws 409 `system_role` or `managed` for a role that the tenant did not make. */
export function assertOwn({ is_system, managed_by }: RoleDetailRow): void {
  if (is_system) throw systemRole()
  if (managed_by !== null) throw managedByApplication(managed_by, 'role')
}

/**
 * Changes a custom role; it takes effect at the next request of its members. Does nothing when nothing changes. 403 for
 * a permission that the caller lacks and adds or takes away: its members can be above the caller, 409 `system_role`, `managed` or `name_taken`.
 */
export async function updateRole(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  role: RoleDetailRow,
  { body: change, ifMatch }: { body: RoleChange; ifMatch: Versions },
): Promise<RoleDetailRow> {
  const { tenantId } = caller
  const at = clock()
  const { id: roleId } = role
  assertAmong(ifMatch, role.version)
  assertOwn(role)
  const { name = role.name, description = role.description, permissions = role.permissions } = change
  const holder = holderOf(caller)
  assertHolds(holder, without(permissions, role.permissions))
  assertHolds({ ...holder, scopes: null }, without(role.permissions, permissions), 'take away')
  const next = { name, description, permissions }
  if (isDeepStrictEqual(next, auditedRole(role))) return role
  changeRole(tx, { tenantId, id: roleId, ...next, at })
  revise(tx, tenantId)
  const changed = { ...role, ...next, name_key: roleNameKey(name), version: role.version + 1, updated_at: at }
  await recordChange(tx, caller, at, {
    event: 'tenant.role_updated',
    data: { role_id: roleId },
    action: 'role:update',
    target: { type: 'role', id: roleId },
    changes: changesBetween(auditedRole(role), auditedRole(changed)),
  })
  return changed
}

const without = (all: readonly string[], some: readonly string[]) => all.filter((one) => !some.includes(one))
