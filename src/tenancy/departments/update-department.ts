import type { Tx } from '../../database/executor/transaction.ts'
import { revise } from '../../database/revisions.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { invalidField } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { holderOf, holds, refused } from '../roles/grantable-roles.ts'
import { requireDepartment } from './create-department.ts'
import { auditedDepartment, type DepartmentChange } from './department-schemas.ts'
import { changeDepartment, type Department, type DepartmentRow, isAtOrAbove, movesSubjects } from './store.ts'

/**
 * Changes or moves a department. 400 on `parent_id` for an unknown parent and for a descendant of the department, 403 for
 * a move that changes what policies permit the caller.
 * The lock on the tenant makes moves wait for each other, so two moves cannot form a cycle together.
 */
export async function updateDepartment(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  department: DepartmentRow,
  { body: change, ifMatch }: { body: DepartmentChange; ifMatch: Versions },
): Promise<Department> {
  const { tenantId } = caller
  const at = clock()
  const { id } = department
  assertAmong(ifMatch, department.version)
  const { name = department.name, description = department.description } = change
  const { parent_id: parentId = department.parent_id } = change
  const moves = parentId !== department.parent_id
  if (moves) {
    await assertNoCycle(tx, tenantId, id, parentId)
    await assertMayMove(tx, caller, id, parentId)
  }
  if (!moves && name === department.name && description === department.description) return department
  changeDepartment(tx, { tenantId, id, name, description, parentId, at })
  if (moves) revise(tx, tenantId)
  const version = department.version + 1
  const changed = { ...department, name, description, parent_id: parentId, version, updated_at: at }
  await recordChange(tx, caller, at, {
    event: 'tenant.department_updated',
    data: { department_id: id },
    action: 'department:update',
    target: { type: 'department', id },
    changes: changesBetween(auditedDepartment(department), auditedDepartment(changed)),
  })
  return changed
}

async function assertNoCycle(tx: Tx, tenantId: string, id: string, parentId: string | null): Promise<void> {
  if (parentId === null) return
  const [isBelow] = await Promise.all([
    isAtOrAbove(tx, tenantId, id, parentId),
    requireDepartment(tx, tenantId, parentId, 'parent_id'),
  ])
  if (isBelow) throw invalidField('parent_id', 'A department cannot be below itself.', 'cycle')
}

/**
 * Policies permit by department, so a move of the caller's own department, or to below it, takes `policy:update`. So do
 * moves of service accounts, whose keys the caller can hold.
 */
async function assertMayMove(tx: Tx, caller: Caller, id: string, parentId: string | null): Promise<void> {
  if (holds(holderOf(caller), 'policy:update')) return
  const { tenantId, userId, impersonator } = caller
  const subjects = impersonator ? [userId, impersonator.id] : [userId]
  if (await movesSubjects(tx, tenantId, { id, parentId, subjects }))
    throw refused(
      'Without the permission policy:update you cannot move your own department or one with service accounts, nor another one below them.',
    )
}
