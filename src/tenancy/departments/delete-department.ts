import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../platform/audit/append-audit.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { Versions } from '../../platform/db/version.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { assertAmong } from '../../platform/http/etag.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { causedBy } from '../../platform/outbox/caused-by.ts'
import { auditedDepartment } from './department-schemas.ts'
import { type DepartmentRow, deleteEmptyDepartment } from './store.ts'

/** Deletes a department. 409 `department_in_use` while it has members or child departments. */
export async function deleteDepartment(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  department: DepartmentRow,
  versions: Versions,
): Promise<void> {
  const { tenantId } = caller
  const at = clock()
  const { id } = department
  assertAmong(versions, department.version)
  if (!(await deleteEmptyDepartment(tx, tenantId, id)))
    throw new ApiError(409, 'department_in_use', 'Move its members and child departments first.')
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
}
