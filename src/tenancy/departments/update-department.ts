import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../platform/audit/append-audit.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { Versions } from '../../platform/db/version.ts'
import { invalidField } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { assertAmong } from '../../platform/http/etag.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { causedBy } from '../../platform/outbox/caused-by.ts'
import { holdParent } from './create-department.ts'
import { auditedDepartment, type DepartmentChange } from './department-schemas.ts'
import { changeDepartment, type DepartmentRow, findDepartment, isAtOrAbove } from './store.ts'

/**
 * Changes or moves a department; 400 on `parent_id` for an unknown parent, or one below the department. Moves within
 * a tenant wait for each other, so two that would close a circle together cannot both be made.
 */
export async function updateDepartment(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  department: DepartmentRow,
  { body: change, ifMatch }: { body: DepartmentChange; ifMatch: Versions },
): Promise<DepartmentRow> {
  const { tenantId } = caller
  const at = clock()
  const { id } = department
  assertAmong(ifMatch, department.version)
  const { name = department.name, description = department.description } = change
  const { parent_id: parentId = department.parent_id } = change
  await holdParent(tx, tenantId, parentId)
  if (parentId !== null && (await isAtOrAbove(tx, tenantId, id, parentId)))
    throw invalidField('parent_id', 'A department cannot lie below itself.', 'cycle')
  if (!(await changeDepartment(tx, { tenantId, id, name, description, parentId, at }))) return department
  await appendEvent(tx, {
    ...causedBy(caller, at),
    type: 'tenant.department_updated',
    subject: id,
    data: { department_id: id },
  })
  const changed = (await findDepartment(tx, tenantId, id)) ?? department
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'department:update',
    target: { type: 'department', id: id },
    changes: changesBetween(auditedDepartment(department), auditedDepartment(changed)),
  })
  return changed
}
