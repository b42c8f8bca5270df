import {
  anyRole,
  confined,
  exempt,
  gate,
  granted,
  keysToo,
  managers,
  noGrants,
  ownerExempt,
  owners,
  readers,
  selfOnly,
  sessionOnly,
  signIn,
  tenantless,
  widen,
} from './action-forms.ts'
import { reservedResources } from './reserved-names.ts'

/** The roles of every tenant. A tenant can add roles of its own, which are lists of permissions. */
export const systemRoles = ['owner', 'admin', 'member', 'auditor'] as const
export type SystemRole = (typeof systemRoles)[number]

/** Of a session, of a sign-in that waits for a second factor, an API key; and, accepted where a key is, of a person who acts as a member, and of an application. */
export type TokenKind = 'access' | 'otp_pending' | 'key' | 'impersonation' | 'oauth'

/**
 * One action of the service. Its name is the permission, the policy action, the metric label and the log field.
 * `roles` are permitted on every object, `own` only on their own objects. `self` permits every active member on
 * their own objects. `open` permits every active member, because the operation itself checks the object.
 */
export interface Action {
  readonly roles: readonly SystemRole[]
  readonly own: readonly SystemRole[]
  readonly self: boolean
  readonly open: boolean
  /** a key with scopes has it on its own objects without naming it, because the answer itself keeps within the scopes */
  readonly unscoped: boolean
  /** a `require_approval` policy can name it */
  readonly gate: boolean
  /** an `allow` policy can grant it to more people */
  readonly widen: boolean
  /** needs an active membership in a tenant; if false, membership and tenant can be null */
  readonly needsTenant: boolean
  /** possible while the tenant is suspended or archived */
  readonly whenInactive: boolean
  /** who is exempt from `deny` policies: they must not lock people out of their accounts, or owners out of policies */
  readonly exempt: 'none' | 'owner' | 'everyone'
  readonly tokens: readonly Exclude<TokenKind, 'impersonation' | 'oauth'>[]
  /** possible in a session by a connection, which stays within its tenant and changes nothing of the person */
  readonly confined: boolean
}

/** Every action of the service. The service does not start if a route names another one. */
export const actions = {
  'profile:read': selfOnly({ ...confined, ...exempt, ...keysToo }),
  'profile:update': selfOnly(exempt),
  'profile:delete': selfOnly({ ...tenantless, ...exempt }),
  'password:change': selfOnly(exempt),
  'email_verification:send': selfOnly(exempt),
  'session:switch': selfOnly({ ...confined, ...tenantless, ...exempt }),
  'session:logout': selfOnly({ ...confined, ...tenantless, ...exempt }),
  'session:list': selfOnly({ ...confined, ...tenantless, ...exempt }),
  'session:delete': selfOnly({ ...confined, ...tenantless, ...exempt }),
  'otp_device:create': selfOnly(signIn),
  'otp_device:confirm': selfOnly(signIn),
  'otp_device:generate': selfOnly(exempt),
  'otp_device:list': selfOnly({ ...confined, ...exempt }),
  'otp_device:delete': selfOnly(exempt),
  'otp:send': selfOnly({ ...confined, ...signIn }),
  'otp:verify': selfOnly({ ...confined, ...signIn }),
  'passkey:list': selfOnly({ ...confined, ...exempt }),
  'passkey:create': selfOnly(signIn),
  'passkey:update': selfOnly(exempt),
  'passkey:delete': selfOnly(exempt),
  'passkey:verify': selfOnly({ ...confined, ...signIn }),
  'identity:list': selfOnly(exempt),
  'identity:delete': selfOnly(exempt),

  'tenant:list': selfOnly({ ...confined, ...tenantless, ...exempt, ...keysToo }),
  'tenant:create': selfOnly(tenantless),
  'tenant:read': granted(anyRole, { whenInactive: true }),
  'tenant:update': granted(managers, gate),
  // Suspending a suspended tenant answers 200, so the request has to reach the operation.
  'tenant:suspend': granted(owners, { gate: true, whenInactive: true }),
  'tenant:activate': granted(owners, { whenInactive: true }),
  'tenant:archive': granted(owners, { gate: true, whenInactive: true }),
  'tenant:delete': granted(owners, { gate: true, whenInactive: true }),
  'user:list': granted(anyRole, widen),
  'user:read': granted(anyRole, widen),
  'member:list': granted(anyRole),
  'member:create': granted(managers, gate),
  'member:update': granted(managers, gate),
  // Every member can leave.
  'member:delete': granted(managers, { self: true, gate: true }),
  'member:impersonate': granted(owners, sessionOnly),
  'service_account:list': granted(readers),
  'service_account:read': granted(readers),
  'service_account:create': granted(managers, gate),
  'service_account:update': granted(managers, gate),
  'service_account:delete': granted(managers, gate),
  // Every member can have keys of their own. A key cannot make or end keys.
  'api_key:create': granted(managers, { self: true, ...gate, ...sessionOnly }),
  'api_key:rotate': granted(managers, { self: true, ...gate, ...sessionOnly }),
  'api_key:delete': granted(managers, { self: true, ...gate, ...sessionOnly }),
  'api_key:list_own': selfOnly(confined),
  'oauth_client:list': granted(readers),
  'oauth_client:read': granted(readers),
  'oauth_client:create': granted(managers, gate),
  'oauth_client:update': granted(managers, gate),
  'oauth_client:delete': granted(managers, gate),
  'oauth_resource:list': granted(readers),
  'oauth_resource:read': granted(readers),
  'oauth_resource:create': granted(managers, gate),
  'oauth_resource:update': granted(managers, gate),
  'oauth_resource:delete': granted(managers, gate),
  'oauth:authorize': { ...noGrants, open: true, ...gate, ...widen, ...sessionOnly },
  'oauth_grant:list': granted(readers),
  'oauth_grant:revoke': granted(managers),
  'oauth_grant:list_own': selfOnly({ ...confined, ...tenantless, ...exempt }),
  'oauth_grant:revoke_own': selfOnly({ ...confined, ...tenantless, ...exempt }),
  'role:list': granted(anyRole),
  'role:create': granted(managers, gate),
  'role:update': granted(managers, gate),
  'role:delete': granted(managers, gate),
  'department:list': granted(anyRole),
  'department:create': granted(managers, { gate: true, widen: true }),
  'department:update': granted(managers, gate),
  'department:delete': granted(managers, gate),
  'invitation:list': granted(readers, widen),
  'invitation:create': granted(managers, { gate: true, widen: true }),
  'invitation:cancel': granted(managers, { own: ['member'] }),
  'invitation:resend': granted(managers),
  'invitation:accept': selfOnly(tenantless),
  'invitation:list_own': selfOnly(confined),
  'connection:list': granted(readers),
  'connection:read': granted(readers),
  'connection:create': granted(managers, gate),
  'connection:update': granted(managers, gate),
  'connection:delete': granted(managers, gate),
  'connection:test': granted(managers, sessionOnly),
  'connection:activate': granted(owners, sessionOnly),
  'domain:list': granted(readers),
  'domain:read': granted(readers),
  'domain:create': granted(managers, gate),
  'domain:update': granted(managers, gate),
  'domain:delete': granted(managers, gate),
  'domain:verify': granted(owners),
  'scim:provision': granted(owners),
  'directory:read': granted(readers),
  'directory:update': granted(managers, gate),
  'policy:list': granted(readers, ownerExempt),
  'policy:read': granted(readers, ownerExempt),
  'policy:test': granted(readers, ownerExempt),
  'policy:create': granted(managers, { ...gate, ...ownerExempt }),
  'policy:update': granted(managers, { ...gate, ...ownerExempt }),
  'policy:delete': granted(managers, { ...gate, ...ownerExempt }),
  'attribute_definition:list': granted(readers, widen),
  'attribute_definition:create': granted(managers),
  'attribute_definition:delete': granted(managers),
  'registered_resource:list': granted(readers),
  'registered_resource:update': granted(managers),
  'registered_resource:delete': granted(managers),
  // Requesters can follow their own requests, with any role.
  'approval_request:list': granted(readers, { self: true }),
  'approval_request:read': granted(readers, { self: true }),
  'approval_request:list_pending': selfOnly({ ...confined, ...keysToo }),
  // An application asks for itself or for its users; about others it needs access:evaluate, too.
  'approval_request:create': selfOnly({ ...confined, ...keysToo }),
  'approval_request:consume': selfOnly({ ...confined, ...keysToo }),
  // The policy names the approvers; the operation checks the caller against it.
  'approval_request:approve': { ...noGrants, open: true, ...sessionOnly },
  'approval_request:reject': { ...noGrants, open: true, ...sessionOnly },
  'approval_request:cancel': granted(managers, { self: true }),
  'decision:list': granted(readers, { own: ['member'], widen: true }),
  'decision:read': granted(readers, { own: ['member'] }),
  'decision:explain': granted(readers, { own: ['member'] }),
  // Everyone can ask what they themselves may do.
  'access:evaluate': granted(managers, { self: true, unscoped: true }),

  'event:list': granted(readers, widen),
  'audit:list': granted(readers, widen),
  'webhook:list': granted(managers),
  'webhook:create': granted(managers, gate),
  'webhook:update': granted(managers, gate),
  'webhook:delete': granted(managers),
  'webhook:test': granted(managers),
  'webhook:rotate': granted(managers),
  'webhook:replay': granted(managers),
} satisfies Record<string, Action>

export type ActionName = keyof typeof actions

/** All action names, in the order of the table. */
export const actionNames = Object.keys(actions) as ActionName[]

/** An action of an application that the tenant protects: any `resource:verb` whose resource is not the service's. */
export type ApplicationAction = `${string}:${string}`

/** The entry of every application action: owner and admin have it; a permission or an allow policy also grants it. */
export const applicationAction: Action = granted(managers, { gate: true, widen: true })

/** The resources of the service's own actions, and the reserved ones. An application cannot use these names. */
export const serviceResources: ReadonlySet<string> = new Set([
  ...actionNames.map((name) => name.slice(0, name.indexOf(':'))),
  ...reservedResources,
])

const part = '[a-z][a-z0-9_.-]{0,62}'
const actionForm = new RegExp(`^${part}:${part}$`)

/** Whether this is an action of the service. */
export function isServiceAction(name: string): name is ActionName {
  return Object.hasOwn(actions, name)
}

/** Whether a text is a well-formed action whose resource is not the service's. */
export function isApplicationAction(name: string): name is ApplicationAction {
  return actionForm.test(name) && !serviceResources.has(name.slice(0, name.indexOf(':')))
}

/** Whether this can be an action: one of the service, or of an application. */
export const isAction = (name: string): name is ActionName | ApplicationAction =>
  isServiceAction(name) || isApplicationAction(name)

/** Whether a policy can name this: an action, `resource:*` or `*`. */
export function isPolicyAction(name: string): boolean {
  if (name === '*' || isAction(name)) return true
  const resource = name.endsWith(':*') ? name.slice(0, -2) : ''
  if (reservedResources.includes(resource)) return false
  return serviceResources.has(resource) || isApplicationAction(`${resource}:any`)
}

/** The permission that covers every verb of an action's resource. */
export const wildcardOf = (action: string): string => `${action.slice(0, action.indexOf(':'))}:*`

/** Whether a role can carry the action as a permission. Actions only about oneself cannot be granted. */
export function isPermission(name: ActionName): boolean {
  return actions[name].roles.length > 0
}

/** The actions that a system role permits on every object, for API answers. Those on own objects only are not listed. */
export function permissionsOf(role: SystemRole): ActionName[] {
  return permissionsByRole.get(role) ?? []
}

const permissionsByRole = new Map(
  systemRoles.map((role) => [role, actionNames.filter((name) => actions[name].roles.includes(role))]),
)
