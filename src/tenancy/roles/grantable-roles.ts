import { ApiError } from '../../errors.ts'
import {
  actionNames,
  isPermission,
  permissionsOf,
  type SystemRole,
} from '../../policy-engine/catalogue/actions.ts'
import type { Membership } from '../../policy-engine/evaluate/query.ts'
import { hasServiceResource } from './permissions.ts'

// Granting a role grants its permissions, so callers can grant only what they have themselves. This holds for their own
// membership, for new members and for invitations. Accepting an invitation checks again.

/** A member's system roles by name, and the permissions of their custom roles. */
export interface Holder {
  systemRoles: readonly SystemRole[]
  permissions: readonly string[]
  /** The permissions that a key is limited to; null or absent for no limit. */
  scopes?: readonly string[] | null
}

/** A caller, or another person whose roles say what they can give. */
export interface Granting {
  auth: {
    membership: Pick<Membership, 'systemRoles' | 'permissions'> | null
    scopes: readonly string[] | null
  }
}

/** The caller's roles and permissions in the tenant of the request, within the scopes of a key. */
export const holderOf = ({ auth: { membership, scopes } }: Granting): Holder => ({
  systemRoles: membership?.systemRoles ?? [],
  permissions: membership?.permissions ?? [],
  scopes,
})

/** A role to grant. */
export interface GrantedRole {
  name: string
  is_system: boolean
  permissions: readonly string[]
}

/**
 * The first of these roles that has a permission which the giver lacks, with that permission; null if there is none. Only
 * owners can grant the role of an owner, and only owners and admins that of an admin, which includes every permission of the
 * applications; a key with scopes can grant neither.
 */
export function firstExcess(
  giver: Holder,
  roles: readonly GrantedRole[],
): { role: string; permission: string } | null {
  for (const role of roles) {
    const [permission = isBeyond(giver, role) && all] = lackedOf(giver, permissionsIn(role))
    if (permission) return { role: role.name, permission }
  }
  return null
}

const all = 'every permission of the applications'

/** Whether a system role has more than its permissions say, which the giver lacks. */
const isBeyond = (giver: Holder, { is_system, name }: GrantedRole) =>
  is_system &&
  ((name === 'owner' && !isOwner(giver)) ||
    ((name === 'owner' || name === 'admin') && (!isManager(giver) || Boolean(giver.scopes))))

/** Throws 403 for roles with permissions that the giver lacks. */
export function assertGrantable(giver: Holder, roles: readonly GrantedRole[]): void {
  const excess = firstExcess(giver, roles)
  if (!excess) return
  const { role, permission } = excess
  throw refused(
    `You cannot give a role that permits more than your own roles do: ${role} has ${permission}, which you lack.`,
  )
}

/** Throws 403 for permissions of a custom role that the caller lacks. */
export function assertHolds(
  giver: Holder,
  permissions: readonly string[],
  verb: 'grant' | 'take away' = 'grant',
): void {
  const [lacked] = lackedOf(giver, permissions)
  if (lacked !== undefined) throw refused(`You cannot ${verb} ${lacked}: you do not have it yourself.`)
}

/** A permission of a member that the holder lacks; null if there is none. Admins have every permission of the applications. */
export function excessOf(holder: Holder, member: Holder): string | null {
  const held = [...member.systemRoles.flatMap(permissionsOf), ...member.permissions]
  return lackedOf(holder, held)[0] ?? (isManager(member) && !isManager(holder) ? all : null)
}

const isManager = ({ systemRoles }: Holder) => systemRoles.includes('owner') || systemRoles.includes('admin')

/** Whether the holder has a permission. */
export const holds = (holder: Holder, permission: string): boolean =>
  lackedOf(holder, [permission]).length === 0

export const isOwner = ({ systemRoles }: Holder): boolean => systemRoles.includes('owner')

/**
 * Throws 403 for a department, a manager or attributes that a caller without `policy:update` gives to a new member or to
 * a service account: policies permit by them, and the caller can be the new member, or hold a key of the account.
 */
export function assertMayDescribe(
  caller: Granting,
  { department_id, manager_id, attributes, external_id }: Description,
): void {
  const isPlain = !department_id && !manager_id && !external_id && Object.keys(attributes ?? {}).length === 0
  if (!isPlain && !holds(holderOf(caller), 'policy:update'))
    throw refused(
      'Giving a department, a manager, attributes or an external_id takes the permission policy:update.',
    )
}

/** What policies read of a membership besides its roles, and whom questions name by it. */
interface Description {
  department_id?: string | null | undefined
  manager_id?: string | null | undefined
  attributes?: Record<string, unknown> | undefined
  external_id?: string | null | undefined
}

/** A 403 that no policy decision stands behind. */
export const refused = (message: string) => new ApiError(403, 'permission_denied', message)

const permissionsIn = ({ name, is_system, permissions }: GrantedRole): readonly string[] =>
  is_system ? permissionsOf(name as SystemRole) : permissions

/** The `permissions` that a holder lacks. Owners and admins have every permission of the tenant's applications. */
function lackedOf(
  { systemRoles, permissions: own, scopes }: Holder,
  permissions: readonly string[],
): string[] {
  const held = new Set([...systemRoles.flatMap(permissionsOf), ...own].flatMap(verbsOf))
  const isAdmin = isManager({ systemRoles, permissions: own })
  const isInScope = (permission: string) =>
    !scopes || scopes.includes(permission) || scopes.includes(wildcardOf(permission))
  const isHeld = (permission: string) =>
    isInScope(permission) &&
    (held.has(permission) || held.has(wildcardOf(permission)) || (isAdmin && !hasServiceResource(permission)))
  return [...new Set(permissions.flatMap(verbsOf))].filter((permission) => !isHeld(permission))
}

const wildcardOf = (permission: string) => `${permission.split(':')[0]}:*`

/** Expands `resource:*` to all verbs of the resource. The verbs of an application's resource are unknown: it stays. */
function verbsOf(permission: string): string[] {
  if (!permission.endsWith(':*') || !hasServiceResource(permission)) return [permission]
  return actionNames.filter((name) => isPermission(name) && wildcardOf(name) === permission)
}
