import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../platform/audit/append-audit.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { ApiError, invalidField } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { causedBy } from '../../platform/outbox/caused-by.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { lockTenant } from '../tenants/store.ts'
import { auditedDepartment, type NewDepartment } from './department-schemas.ts'
import {
  countDepartments,
  type DepartmentRow,
  findDepartment,
  holdDepartment,
  insertDepartment,
} from './store.ts'

/** Creates a department; 400 on `parent_id` for an unknown parent, 409 `limit_reached`. */
export async function createDepartment(
  tx: Tx,
  { clock, config }: Deps,
  caller: Caller,
  body: NewDepartment,
): Promise<DepartmentRow> {
  const { tenantId } = caller
  const at = clock()
  const id = timeOrderedId(at)
  const most = config.LIMIT_DEPARTMENTS
  await lockTenant(tx, tenantId)
  await holdParent(tx, tenantId, body.parent_id)
  if ((await countDepartments(tx, tenantId)) >= most)
    throw new ApiError(409, 'limit_reached', `A tenant may have ${most} departments.`)
  await insertDepartment(tx, { ...body, parentId: body.parent_id, tenantId, id, at })
  await appendEvent(tx, {
    ...causedBy(caller, at),
    type: 'tenant.department_created',
    subject: id,
    data: { department_id: id },
  })
  const department = await findDepartment(tx, tenantId, id)
  if (!department) throw new Error('The department just made cannot be seen')
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'department:create',
    target: { type: 'department', id: id },
    changes: changesBetween(null, auditedDepartment(department)),
  })
  return department
}

/** Keeps the parent until the transaction ends; 400 on `parent_id` where there is none of this id. */
export async function holdParent(tx: Tx, tenantId: string, parentId: string | null): Promise<void> {
  if (parentId !== null && !(await holdDepartment(tx, tenantId, parentId)))
    throw invalidField('parent_id', 'This tenant has no department of this id.', 'unknown')
}
