import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant, revise } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidField } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { auditedDepartment, type NewDepartment } from './department-schemas.ts'
import { countDepartments, type Department, insertDepartment, lockDepartmentShared } from './store.ts'

/** Creates a department. 400 on `parent_id` for an unknown parent, 409 `limit_reached`. */
export async function createDepartment(
  tx: Tx,
  { clock, config }: Deps,
  caller: Caller,
  body: NewDepartment,
): Promise<Department> {
  const { tenantId } = caller
  const at = clock()
  const id = timeOrderedId(at)
  const max = config.LIMIT_DEPARTMENTS
  await lockTenant(tx, tenantId)
  const [count] = await Promise.all([
    countDepartments(tx, tenantId),
    requireDepartment(tx, tenantId, body.parent_id, 'parent_id'),
  ])
  if (count >= max) throw new ApiError(409, 'limit_reached', `A tenant can have at most ${max} departments.`)
  // Policies can ask which department is below which; their cache belongs to a revision.
  revise(tx, tenantId)
  const department = insertDepartment(tx, { ...body, parentId: body.parent_id, tenantId, id, at })
  await recordChange(tx, caller, at, {
    event: 'tenant.department_created',
    data: { department_id: id },
    action: 'department:create',
    target: { type: 'department', id },
    changes: changesBetween(null, auditedDepartment(department)),
  })
  return department
}

/**
 * Throws 400 on `field` unless `id` is null or a department of the tenant. The department cannot be deleted until the
 * transaction ends.
 */
export async function requireDepartment(
  tx: Tx,
  tenantId: string,
  id: string | null,
  field: 'parent_id' | 'department_id',
): Promise<void> {
  if (id !== null && !(await lockDepartmentShared(tx, tenantId, id)))
    throw invalidField(field, 'This tenant has no department with this id.', 'unknown')
}
