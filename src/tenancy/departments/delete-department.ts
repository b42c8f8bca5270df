import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../platform/audit/append-audit.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Versions } from '../../platform/db/version.ts'
import { ApiError, notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { assertAmong } from '../../platform/http/etag.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { causedBy } from '../../platform/outbox/caused-by.ts'
import { lockTenant } from '../tenants/store.ts'
import { auditedDepartment, showDepartment } from './department-schemas.ts'
import { deleteEmptyDepartment, findDepartment, lockDepartment } from './store.ts'

/** Deletes a department; 409 `department_in_use` while it has members or departments below it. */
export function deleteDepartment(
  { db, clock }: Deps,
  caller: Caller,
  id: string,
  versions: Versions,
): Promise<void> {
  const { tenantId } = caller
  const at = clock()
  return inTenant(db, caller, async (tx) => {
    await lockTenant(tx, tenantId)
    await lockDepartment(tx, tenantId, id)
    const department = await findDepartment(tx, tenantId, id)
    if (!department) throw notFound()
    caller.permit({ type: 'department', id, fields: showDepartment(department) })
    assertAmong(versions, department.version)
    if (!(await deleteEmptyDepartment(tx, tenantId, id)))
      throw new ApiError(409, 'department_in_use', 'Move its members and the departments below it first.')
    await appendEvent(tx, {
      ...causedBy(caller, at),
      type: 'tenant.department_deleted',
      subject: id,
      data: { department_id: id },
    })
    await appendAudit(tx, {
      ...doneBy(caller, at),
      action: 'department:delete',
      target: { type: 'department', id },
      changes: changesBetween(auditedDepartment(department), null),
    })
  })
}
