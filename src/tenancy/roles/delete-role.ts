import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../platform/audit/append-audit.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Versions } from '../../platform/db/version.ts'
import { ApiError, notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { assertAmong } from '../../platform/http/etag.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { causedBy } from '../../platform/outbox/caused-by.ts'
import { growPolicyRevision, lockTenant } from '../tenants/store.ts'
import { auditedRole, showRole } from './role-schemas.ts'
import { deleteUnusedRole, findRole, lockRole } from './store.ts'
import { systemRole } from './update-role.ts'

/** Deletes a custom role that no member and no policy has; 409 `system_role` or `role_in_use`. */
export function deleteRole(
  { db, clock }: Deps,
  caller: Caller,
  roleId: string,
  versions: Versions,
): Promise<void> {
  const { tenantId } = caller
  const at = clock()
  return inTenant(db, caller, async (tx) => {
    await lockTenant(tx, tenantId)
    await lockRole(tx, tenantId, roleId)
    const role = await findRole(tx, tenantId, roleId)
    if (!role) throw notFound()
    caller.permit({ type: 'role', id: roleId, fields: showRole(role) })
    assertAmong(versions, role.version)
    if (role.is_system) throw systemRole()
    if (!(await deleteUnusedRole(tx, tenantId, roleId)))
      throw new ApiError(409, 'role_in_use', 'Members or policies have this role. Take it from them first.')
    await growPolicyRevision(tx, tenantId)
    await appendEvent(tx, {
      ...causedBy(caller, at),
      type: 'tenant.role_deleted',
      subject: roleId,
      data: { role_id: roleId },
    })
    await appendAudit(tx, {
      ...doneBy(caller, at),
      action: 'role:delete',
      target: { type: 'role', id: roleId },
      changes: changesBetween(auditedRole(role), null),
    })
  })
}
