import { actions, isServiceAction } from '../../policy-engine/catalogue/actions.ts'
import { type Holder, holds } from '../../tenancy/roles/grantable-roles.ts'
import { isIdentityScope } from '../clients/client-schemas.ts'

/**
 * Whether a member can pass a scope on: one that says who they are, a permission of their roles, or what every member, or their
 * role, may do about their own. Whether a call is permitted, is decided at the call.
 */
export function isHeld(member: Holder, scope: string): boolean {
  if (isIdentityScope(scope) || holds(member, scope)) return true
  if (!isServiceAction(scope)) return false
  const { self, open, own } = actions[scope]
  return self || open || own.some((role) => member.systemRoles.includes(role))
}
