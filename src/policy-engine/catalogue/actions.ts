/** The roles every tenant has. A tenant's own roles are lists of permissions beside these. */
export const systemRoles = ['owner', 'admin', 'member', 'auditor'] as const
export type SystemRole = (typeof systemRoles)[number]

/** What the bearer showed: a full access token, or the temporary one that waits for a second factor. */
export type TokenKind = 'access' | 'otp_pending'

/**
 * One action of the service: permission, policy action, metric label and log field at once.
 * `roles` have it outright, `own` about their own object only, `self` gives it to every active member
 * about themselves, `open` to every active member because the verb decides with the object in hand.
 */
export interface Action {
  readonly roles: readonly SystemRole[]
  readonly own: readonly SystemRole[]
  readonly self: boolean
  readonly open: boolean
  /** a `require_approval` policy may name it */
  readonly gate: boolean
  /** a tenant's `allow` policy may widen it */
  readonly widen: boolean
  /** decided inside a tenant, so by an active membership there; false: membership and tenant may be null */
  readonly needsTenant: boolean
  /** stays possible while the tenant is suspended or archived */
  readonly whenInactive: boolean
  /** whom a `deny` policy never reaches here, so that nobody is locked out of themselves or of mending it */
  readonly shield: 'nobody' | 'owner' | 'everyone'
  readonly tokens: readonly TokenKind[]
}

const nobody: Action = {
  roles: [],
  own: [],
  self: false,
  open: false,
  gate: false,
  widen: false,
  needsTenant: true,
  whenInactive: false,
  shield: 'nobody',
  tokens: ['access'],
}

const granted = (roles: readonly SystemRole[], more?: Partial<Action>): Action => ({
  ...nobody,
  roles,
  ...more,
})
const oneself = (more?: Partial<Action>): Action => ({ ...nobody, self: true, ...more })

const everyone: readonly SystemRole[] = systemRoles
const stewards: readonly SystemRole[] = ['owner', 'admin']
const readers: readonly SystemRole[] = ['owner', 'admin', 'auditor']
const owners: readonly SystemRole[] = ['owner']

const gate = { gate: true }
const widen = { widen: true }
const shielded = { shield: 'everyone' } as const
const mendable = { shield: 'owner' } as const
const tenantless = { needsTenant: false }
// These issue or complete a sign-in, so the temporary token opens them too.
const signIn: Partial<Action> = { tokens: ['access', 'otp_pending'], ...shielded }

/** Every action of the service; a route that names none of these stops the boot. */
export const actions = {
  'profile:read': oneself(shielded),
  'profile:update': oneself(shielded),
  'profile:delete': oneself({ ...tenantless, ...shielded }),
  'password:change': oneself(shielded),
  'email_verification:send': oneself(shielded),
  'session:switch': oneself({ ...tenantless, ...shielded }),
  'session:logout': oneself({ ...tenantless, ...shielded }),
  'session:list': oneself({ ...tenantless, ...shielded }),
  'session:delete': oneself({ ...tenantless, ...shielded }),
  'otp_device:create': oneself(signIn),
  'otp_device:confirm': oneself(signIn),
  'otp_device:generate': oneself(shielded),
  'otp_device:list': oneself(shielded),
  'otp_device:delete': oneself(shielded),
  'otp:send': oneself(signIn),
  'otp:verify': oneself(signIn),

  'tenant:list': oneself({ ...tenantless, ...shielded }),
  'tenant:create': oneself(tenantless),
  'tenant:read': granted(everyone, { whenInactive: true }),
  'tenant:update': granted(stewards, gate),
  // Repeating a state answers 200, so suspending what is suspended has to reach the verb.
  'tenant:suspend': granted(owners, { gate: true, whenInactive: true }),
  'tenant:activate': granted(owners, { whenInactive: true }),
  'tenant:archive': granted(owners, { gate: true, whenInactive: true }),
  'tenant:delete': granted(owners, { gate: true, whenInactive: true }),

  'user:list': granted(everyone, widen),
  'user:read': granted(everyone, widen),
  'member:list': granted(everyone),
  'member:create': granted(stewards, gate),
  'member:update': granted(stewards, gate),
  // Leaving needs no permission.
  'member:delete': granted(stewards, { self: true, gate: true }),
  'role:list': granted(everyone),
  'role:create': granted(stewards, gate),
  'role:update': granted(stewards, gate),
  'role:delete': granted(stewards, gate),
  'department:list': granted(everyone),
  'department:create': granted(stewards, { gate: true, widen: true }),
  'department:update': granted(stewards, gate),
  'department:delete': granted(stewards, gate),
  'invitation:list': granted(readers, widen),
  'invitation:create': granted(stewards, { gate: true, widen: true }),
  'invitation:cancel': granted(stewards, { own: ['member'] }),
  'invitation:resend': granted(stewards),
  'invitation:accept': oneself(tenantless),
  'invitation:list_own': oneself(),

  'policy:list': granted(readers, mendable),
  'policy:read': granted(readers, mendable),
  'policy:test': granted(readers, mendable),
  'policy:create': granted(stewards, { ...gate, ...mendable }),
  'policy:update': granted(stewards, { ...gate, ...mendable }),
  'policy:delete': granted(stewards, { ...gate, ...mendable }),
  'attribute_definition:list': granted(readers, widen),
  'attribute_definition:create': granted(stewards),
  'attribute_definition:delete': granted(stewards),
  // Whoever was gated follows their own request, whatever roles they have.
  'approval_request:list': granted(readers, { self: true }),
  'approval_request:read': granted(readers, { self: true }),
  'approval_request:list_pending': oneself(),
  // The policy that gated names the approvers; the verb asks it with the request in hand.
  'approval_request:approve': { ...nobody, open: true },
  'approval_request:reject': { ...nobody, open: true },
  'approval_request:cancel': granted(stewards, { self: true }),
  'decision:list': granted(readers, { own: ['member'], widen: true }),
  'decision:read': granted(readers, { own: ['member'] }),
  'decision:explain': granted(readers, { own: ['member'] }),
  'access:evaluate': granted(stewards, { own: ['member'] }),

  'event:list': granted(readers, widen),
  'audit:list': granted(readers, widen),
  'webhook:list': granted(stewards),
  'webhook:create': granted(stewards, gate),
  'webhook:update': granted(stewards, gate),
  'webhook:delete': granted(stewards),
  'webhook:test': granted(stewards),
  'webhook:rotate': granted(stewards),
  'webhook:replay': granted(stewards),
} satisfies Record<string, Action>

export type ActionName = keyof typeof actions

/** All action names, in the order of the table. */
export const actionNames = Object.keys(actions) as ActionName[]

/** An action of an application the tenant protects: any `resource:verb` whose resource is not the service's. */
export type ApplicationAction = `${string}:${string}`

/** What holds of every such action: owner and admin have it, a permission or an allow policy is enough. */
export const applicationAction: Action = granted(stewards, { gate: true, widen: true })

/** The resources the service's own actions are about; an application cannot use these names. */
export const serviceResources: ReadonlySet<string> = new Set(
  actionNames.map((name) => name.slice(0, name.indexOf(':'))),
)

const part = '[a-z][a-z0-9_.-]{0,62}'
const actionForm = new RegExp(`^${part}:${part}$`)

/** Whether this is an action of the service. */
export function isServiceAction(name: string): name is ActionName {
  return Object.hasOwn(actions, name)
}

/** Whether a text is well formed as an action and names no resource of the service. */
export function isApplicationAction(name: string): name is ApplicationAction {
  return actionForm.test(name) && !serviceResources.has(name.slice(0, name.indexOf(':')))
}

/** Whether a policy can name this: an action, `resource:*` or `*`. */
export function isPolicyAction(name: string): boolean {
  if (name === '*' || isServiceAction(name) || isApplicationAction(name)) return true
  const resource = name.endsWith(':*') ? name.slice(0, -2) : ''
  return serviceResources.has(resource) || isApplicationAction(`${resource}:any`)
}

/** Whether this names actions of applications alone. */
export function isOfApplications(name: string): boolean {
  return (
    isApplicationAction(name) ||
    (name !== '*' && isPolicyAction(name) && !serviceResources.has(name.split(':')[0]!))
  )
}

/** Whether a role may carry the action as a permission: what is only about oneself is nobody's to grant. */
export function isPermission(name: ActionName): boolean {
  return actions[name].roles.length > 0
}

/** The actions a system role has outright, for API answers; what it has about its own objects is not listed. */
export function permissionsOf(role: SystemRole): ActionName[] {
  return actionNames.filter((name) => actions[name].roles.includes(role))
}
