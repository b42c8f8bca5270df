import type { Tx } from '../../database/executor/transaction.ts'
import { ApiError, invalidField } from '../../errors.ts'
import type { Caller } from '../../request/caller.ts'
import { lockDepartmentsShared } from '../../tenancy/departments/store.ts'
import { assertGrantable, assertMayDescribe, holderOf } from '../../tenancy/roles/grantable-roles.ts'
import { lockRolesNamed, roleNameKey } from '../../tenancy/roles/store.ts'
import type { NewRule } from './connection-schemas.ts'
import type { MappingRule } from './store.ts'

/**
 * The rules of a mapping with the ids of their roles. Throws 400 for an unknown role or department and for the role owner; 403 for
 * what the editor may not give: roles with permissions that they lack, a department without `policy:update`, and anything where a
 * policy denies them `member:create` or `member:update`, or demands an approval.
 */
export async function checkedMapping(
  tx: Tx,
  caller: Caller,
  rules: readonly NewRule[],
): Promise<MappingRule[]> {
  if (rules.length === 0) return []
  const { tenantId } = caller
  const departments = rules.flatMap(({ department_id: id }) => (id === null ? [] : [id]))
  const [roles, known] = await Promise.all([
    lockRolesNamed(tx, tenantId, [...new Set(rules.flatMap((one) => one.roles))]),
    lockDepartmentsShared(tx, tenantId, departments),
  ])
  const byName = new Map(roles.flatMap((role) => [role.id, roleNameKey(role.name)].map((key) => [key, role])))
  const mapped = rules.map((one, i) => {
    const given = one.roles.map((name) => byName.get(roleNameKey(name)) ?? name)
    const unknown = given.find((role) => typeof role === 'string')
    if (unknown !== undefined)
      throw invalidField(`mapping.${i}.roles`, `This tenant has no role "${unknown}".`, 'unknown')
    const found = given.filter((role) => typeof role !== 'string')
    if (found.some(({ is_system, name }) => is_system && name === 'owner'))
      throw invalidField(`mapping.${i}.roles`, 'A provider makes no one an owner. Name other roles.')
    if (one.department_id !== null && !known.has(one.department_id))
      throw invalidField(
        `mapping.${i}.department_id`,
        'This tenant has no department with this id.',
        'unknown',
      )
    return { ...one, roles: [...new Set(found.map(({ id }) => id))] }
  })
  assertGrantable(holderOf(caller), roles)
  for (const department_id of departments) assertMayDescribe(caller, { department_id })
  assertMayJoinPeople(
    caller,
    roles.map(({ name }) => name),
  )
  return mapped
}

/** The rules add and change members in the name of their editor, at times when no person is asked. */
function assertMayJoinPeople(caller: Caller, roles: readonly string[]): void {
  for (const action of ['member:create', 'member:update'] as const)
    if (caller.readerBy(action)({ type: 'member', fields: { roles } }) === null)
      throw new ApiError(
        403,
        'permission_denied',
        `You cannot write rules for members: a policy denies you ${action}, or demands an approval for it.`,
      )
}
