import type { Tx } from '../../database/executor/transaction.ts'
import { revise } from '../../database/revisions.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { forgetDepartment } from '../invitations/store.ts'
import { auditedDepartment } from './department-schemas.ts'
import { type DepartmentRow, deleteEmptyDepartment } from './store.ts'

/** Deletes a department. 409 `department_in_use` while it has members, registered resources, child departments or rules of a directory. */
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
  forgetDepartment(tx, tenantId, id)
  if (!(await deleteEmptyDepartment(tx, tenantId, id)))
    throw new ApiError(
      409,
      'department_in_use',
      'Move its members, registered resources, child departments and rules of a directory first.',
    )
  revise(tx, tenantId)
  await recordChange(tx, caller, at, {
    event: 'tenant.department_deleted',
    data: { department_id: id },
    action: 'department:delete',
    target: { type: 'department', id },
    changes: changesBetween(auditedDepartment(department), null),
  })
}
