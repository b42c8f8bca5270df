import type { Tx } from '../../database/executor/transaction.ts'
import { invalidField } from '../../errors.ts'
import type { Caller } from '../../request/caller.ts'
import { lockDepartmentsShared } from '../departments/store.ts'
import { assertGrantable, holderOf, holds, refused } from '../roles/grantable-roles.ts'
import { lockRolesNamed, roleNameKey } from '../roles/store.ts'

/** What a rule gives members: roles, by name or id, and a department. */
interface Gift {
  roles: readonly string[]
  department_id: string | null
}

interface Checked {
  /** Where the body has a member of the gift `at`. */
  field(at: number, name: 'roles' | 'department_id'): string
  /** What a person does to members with the same effect. */
  actions: readonly ('member:create' | 'member:update')[]
  /** The names of roles that members concerned have already: policies name members by them. */
  held?: readonly string[]
}

/**
 * The ids of the roles of each gift. Throws 400 for an unknown role or department and for the role owner; 403 for
 * what the editor of the rules may not give: roles with permissions that they lack, anything without `policy:update`, and anything
 * where a policy denies them one of the actions, or demands an approval. Rules act in the name of their editor, at times when no person
 * is asked.
 */
export async function checkedGifts(
  tx: Tx,
  caller: Caller,
  gifts: readonly Gift[],
  { field, actions, held = [] }: Checked,
): Promise<string[][]> {
  if (gifts.length === 0) return []
  const { tenantId } = caller
  const departments = gifts.flatMap(({ department_id: id }) => (id === null ? [] : [id]))
  const [roles, known] = await Promise.all([
    lockRolesNamed(tx, tenantId, [...new Set(gifts.flatMap((one) => one.roles))]),
    lockDepartmentsShared(tx, tenantId, departments),
  ])
  const byName = new Map(roles.flatMap((role) => [role.id, roleNameKey(role.name)].map((key) => [key, role])))
  const ids = gifts.map((one, i) => {
    const given = one.roles.map((name) => byName.get(roleNameKey(name)) ?? name)
    const unknown = given.find((role) => typeof role === 'string')
    if (unknown !== undefined)
      throw invalidField(field(i, 'roles'), `This tenant has no role "${unknown}".`, 'unknown')
    const found = given.filter((role) => typeof role !== 'string')
    if (found.some(({ is_system, name }) => is_system && name === 'owner'))
      throw invalidField(field(i, 'roles'), 'A rule makes no one an owner. Name other roles.')
    if (one.department_id !== null && !known.has(one.department_id))
      throw invalidField(field(i, 'department_id'), 'This tenant has no department with this id.', 'unknown')
    return [...new Set(found.map(({ id }) => id))]
  })
  // They could be the member: of oneself it is asked, too.
  if (!holds(holderOf(caller), 'policy:update'))
    throw refused('Rules for members take the permission policy:update.')
  assertGrantable(holderOf(caller), roles)
  const names = [...new Set([...roles.map(({ name }) => name), ...held])]
  assertUndenied(caller, actions, names)
  return ids
}

/** Throws 403 where a policy denies the editor one of the actions for members with these roles, or demands an approval. */
export function assertUndenied(caller: Caller, actions: Checked['actions'], roles: readonly string[]): void {
  for (const action of actions)
    if (caller.readerBy(action)({ type: 'member', fields: { roles } }) === null)
      throw refused(
        `You cannot write rules for members: a policy denies you ${action}, or demands an approval for it.`,
      )
}
