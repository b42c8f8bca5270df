import type { Tx } from '../../database/executor/transaction.ts'
import { revise } from '../../database/revisions.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { auditedRole } from './role-schemas.ts'
import { deleteUnusedRole, type RoleDetailRow } from './store.ts'
import { assertOwn } from './update-role.ts'

/** Deletes a custom role that no member has and no policy names. 409 `system_role`, `managed` or `role_in_use`. */
export async function deleteRole(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  role: RoleDetailRow,
  versions: Versions,
): Promise<void> {
  const { tenantId } = caller
  const at = clock()
  const { id: roleId } = role
  assertAmong(versions, role.version)
  assertOwn(role)
  if (!(await deleteUnusedRole(tx, tenantId, roleId)))
    throw new ApiError(
      409,
      'role_in_use',
      'Members, policies or rules of a directory use this role. Remove it from them first.',
    )
  revise(tx, tenantId)
  await recordChange(tx, caller, at, {
    event: 'tenant.role_deleted',
    data: { role_id: roleId },
    action: 'role:delete',
    target: { type: 'role', id: roleId },
    changes: changesBetween(auditedRole(role), null),
  })
}
