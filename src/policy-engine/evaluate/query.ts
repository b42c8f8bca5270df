import {
  type ActionName,
  type ApplicationAction,
  actions,
  isServiceAction,
  type SystemRole,
  type TokenKind,
  wildcardOf,
} from '../catalogue/actions.ts'
import type { Slice } from '../compile/compiled-policy.ts'
import type { DataType } from '../compile/conditions.ts'
import type { Departments } from '../compile/departments.ts'
import { attributesOf } from './attributes.ts'
import { sessionInput } from './session-input.ts'

/** A person, or a service account of the tenant: the members. */
export type SubjectType = 'user' | 'service_account'

/** The subject, as read from the database for this request. From the token come only its ids. */
export interface Subject {
  type: SubjectType
  id: string
  /** empty for a service account */
  email: string
  emailVerified: boolean
  /** the tenant of this request: that of the token, or of the path for `/tenants/<id>/` */
  tenantId: string
  membership: Membership | null
  session: SessionFacts
}

export interface Membership {
  id: string
  status: 'active' | 'suspended'
  systemRoles: readonly SystemRole[]
  roleIds: readonly string[]
  /** the names of all roles, as `subject.roles`; if absent, the system roles */
  roles?: readonly string[]
  /** the attributes that the tenant gave the member, as `subject.<key>` */
  attributes?: Readonly<Record<string, unknown>>
  /** from the tenant's own roles: `resource:verb` or `resource:*` */
  permissions: readonly string[]
  departmentId: string | null
  /** the user id of the member's manager; absent in decisions recorded before members had one */
  managerId?: string | null
  /** ms since the epoch */
  joinedAt: number
}

export interface SessionFacts {
  id: string
  acr: 'aal1' | 'aal2'
  amr: readonly string[]
  /** ms since the epoch */
  authTime: number
  token: TokenKind
  /** the permissions that a key is limited to, absent or null: no limit; the scopes of an application */
  scopes?: readonly string[] | null
  /** who acts as the subject; the session is theirs */
  actor?: Actor | null
}

/** A member who acts as another one. What one of both may not do is denied. */
export interface Actor {
  id: string
  email: string
  emailVerified: boolean
  membership: Membership | null
}

export interface TenantFacts {
  id: string
  status: 'active' | 'suspended' | 'archived'
  requireMfa: boolean
  /** IANA name, for hour and weekday; UTC if absent */
  timeZone?: string
}

/** The object of the action. `tenantId` is null only for actions that need no tenant. */
export interface Resource {
  type: string
  id: string | null
  tenantId: string | null
  ownerId: string | null
  /** the fields of the resource, as `resource.<key>`; times as RFC 3339 texts or Dates */
  fields?: Readonly<Record<string, unknown>>
}

interface Environment {
  ip: string | null
  userAgent: string | null
}

/** An approved and unused request. The engine decides whether it satisfies a gate. */
export interface GrantedApproval {
  id: string
  subjectId: string
  action: string
  resourceType: string
  resourceId: string | null
  /** ms since the epoch */
  validUntil: number
  /** the gates that it satisfies; an edited policy needs a new approval */
  gates: readonly { policyId: string; version: number }[]
}

/** A person or a service account that asks. */
export interface Asker {
  type: SubjectType
  id: string
}

interface CommonQuery {
  requestId: string
  now: number
  phase: 'route' | 'resource'
  resource: Resource
  environment: Environment
  /** the tenant's policies for this action and resource type, at the current revision */
  slice: Slice
  approval?: GrantedApproval | null
  /** whether another member could approve now; determined only for owners who change policies; true if absent */
  othersCanApprove?: boolean
  /** the departments of a recorded query, as they were; others are those of the slice */
  departments?: Departments
  /** what an application sent, also what does not count; no rule reads it, hints do */
  offered?: SentAttributes
  /** who asks, where that can be another one than the subject; their work is counted, no rule reads it */
  askedBy?: Asker
}

/**
 * One query to the engine. Phase `route` asks whether the action could be permitted at all (a grant on own objects
 * counts); phase `resource` asks about this resource. `now` is in ms since the epoch.
 */
export interface DecisionQuery extends CommonQuery {
  subject: Subject
  tenant: TenantFacts | null
  action: ActionName
}

/** A subject that an application asks about. It has a session only if it is the caller, and can be no member. */
interface ApplicationSubject extends Omit<Subject, 'type' | 'email' | 'session'> {
  type: string
  email: string | null
  session: SessionFacts | null
}

/** The attributes that an application sends. They never replace a built-in attribute or one of a member. */
export interface SentAttributes {
  subject?: Readonly<Record<string, unknown>>
  resource?: Readonly<Record<string, unknown>>
  action?: Readonly<Record<string, unknown>>
  environment?: Readonly<Record<string, unknown>>
}

/** One query about an action of an application (see `isApplicationAction`). */
export interface ApplicationQuery extends CommonQuery {
  application: true
  subject: ApplicationSubject
  tenant: TenantFacts
  action: ApplicationAction
  sent?: SentAttributes
}

export type AnyQuery = DecisionQuery | ApplicationQuery

/** Who asks: an actor in place of the subject. */
export function askerOf({ askedBy, subject }: AnyQuery): Asker {
  if (askedBy) return askedBy
  const actor = subject.session?.actor
  if (actor) return { type: 'user', id: actor.id }
  return { type: subject.type === 'service_account' ? 'service_account' : 'user', id: subject.id }
}

/**
 * Whether an owner asks for an action with which owners repair policies. Policies that are too costly, cannot be
 * evaluated, or need an approval that only the owner could give must not prevent that.
 */
export const isOwnerRecovery = (action: string, membership: Membership | null) =>
  isServiceAction(action) && actions[action].exempt === 'owner' && !!membership?.systemRoles.includes('owner')

/**
 * The query as the policies read it, in snake_case. It has only the members that rules read, because each costs
 * 0.1 µs; the attributes that conditions read are in `attrs`, with those `alsoRead`.
 */
export function policyInput(query: AnyQuery, alsoRead: Readonly<Record<string, DataType>> = {}) {
  const { subject, tenant, resource } = query
  return {
    request_id: query.requestId,
    now: query.now,
    phase: query.phase,
    application: 'application' in query,
    subject: {
      type: subject.type,
      id: subject.id,
      tenant_id: subject.tenantId,
      membership: membershipInput(subject.membership, query.action),
      session: subject.session && sessionInput(subject.session, query.action),
    },
    tenant: tenant && { id: tenant.id, status: tenant.status },
    action: query.action,
    resource: {
      type: resource.type,
      id: resource.id,
      tenant_id: resource.tenantId,
      owner_id: resource.ownerId,
    },
    attrs: attributesOf(query, { ...alsoRead, ...query.slice.attributes }),
    approval: approvalInput(query.approval),
    others_can_approve: query.othersCanApprove ?? true,
  }
}

// Passes only the permissions that can match: roles can list thousands, and each costs time in the module.
function membershipInput(membership: Membership | null, action: string) {
  if (membership === null) return null
  const deciding = [action, wildcardOf(action)]
  return {
    status: membership.status,
    system_roles: membership.systemRoles,
    role_ids: membership.roleIds,
    permissions: membership.permissions.filter((permission) => deciding.includes(permission)),
    department_id: membership.departmentId,
  }
}

function approvalInput(approval: GrantedApproval | null | undefined) {
  if (!approval) return null
  return {
    id: approval.id,
    subject_id: approval.subjectId,
    action: approval.action,
    resource_type: approval.resourceType,
    resource_id: approval.resourceId,
    valid_until: approval.validUntil,
    gates: approval.gates.map(({ policyId, version }) => ({ policy_id: policyId, version })),
  }
}
