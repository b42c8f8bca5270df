import { ApiError } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import {
  actionNames,
  isPermission,
  permissionsOf,
  type SystemRole,
} from '../../policy-engine/catalogue/actions.ts'
import { hasServiceResource } from './permissions.ts'

// Who gives a role gives what it permits, so nobody gives more than they have. That a role is given to oneself, to a
// new member or to somebody invited makes no difference; an invitation asks again when it is accepted.

/** What somebody may, as membership says it: system roles by name, and the permissions of their custom roles. */
export interface Holder {
  systemRoles: readonly SystemRole[]
  permissions: readonly string[]
}

/** What the caller may in the tenant of the request. */
export const holderOf = ({ auth }: Caller): Holder => auth.membership ?? { systemRoles: [], permissions: [] }

/** A role somebody wants to give. */
export interface GivenRole {
  name: string
  is_system: boolean
  permissions: readonly string[]
}

/** Whether these roles permit more than their giver may; the role of an owner is an owner's to give. */
export function permitsMoreThan(giver: Holder, roles: readonly GivenRole[]): boolean {
  if (!isOwner(giver) && roles.some(({ is_system, name }) => is_system && name === 'owner')) return true
  return lackedOf(giver, roles.flatMap(permissionsIn)).length > 0
}

/** Throws 403 for roles that permit more than their giver may. */
export function assertGivable(giver: Holder, roles: readonly GivenRole[]): void {
  if (permitsMoreThan(giver, roles))
    throw refused('You cannot give a role that permits more than your own roles do.')
}

/** Throws 403 for permissions, written into a role, that the writer lacks. */
export function assertHeld(giver: Holder, permissions: readonly string[]): void {
  const [lacked] = lackedOf(giver, permissions)
  if (lacked !== undefined) throw refused(`You cannot grant ${lacked}: you do not have it yourself.`)
}

/** Whether somebody has a permission. */
export const holds = (holder: Holder, permission: string): boolean =>
  lackedOf(holder, [permission]).length === 0

export const isOwner = ({ systemRoles }: Holder): boolean => systemRoles.includes('owner')

/** 403 without a decision of the engine behind it. */
export const refused = (message: string) => new ApiError(403, 'permission_denied', message)

const permissionsIn = ({ name, is_system, permissions }: GivenRole): readonly string[] =>
  is_system ? permissionsOf(name as SystemRole) : permissions

/** Of `permissions`, those a holder lacks; owners and admins have every permission of applications. */
function lackedOf({ systemRoles, permissions: own }: Holder, permissions: readonly string[]): string[] {
  const held = new Set([...systemRoles.flatMap(permissionsOf), ...own].flatMap(verbsOf))
  const steward = systemRoles.includes('owner') || systemRoles.includes('admin')
  const isHeld = (permission: string) =>
    held.has(permission) || held.has(wildcardOf(permission)) || (steward && !hasServiceResource(permission))
  return [...new Set(permissions.flatMap(verbsOf))].filter((permission) => !isHeld(permission))
}

const wildcardOf = (permission: string) => `${permission.split(':')[0]}:*`

/** `resource:*` is as much as all verbs of it; of an application's resource nobody knows them, so it stays itself. */
function verbsOf(permission: string): string[] {
  if (!permission.endsWith(':*') || !hasServiceResource(permission)) return [permission]
  return actionNames.filter((name) => isPermission(name) && wildcardOf(name) === permission)
}
