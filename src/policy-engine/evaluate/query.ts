import type { ActionName, ApplicationAction, SystemRole, TokenKind } from '../catalogue/actions.ts'
import type { Slice } from '../compile/compiled-policy.ts'
import { attributesOf } from './attributes.ts'

/** Who asks, as the database says it for this request; the token only names them. */
export interface Subject {
  type: 'user'
  id: string
  email: string
  emailVerified: boolean
  /** the tenant this request is scoped to: the token's, or that of the path for `/tenants/<id>/` */
  tenantId: string
  membership: Membership | null
  session: SessionFacts
}

export interface Membership {
  id: string
  status: 'active' | 'suspended'
  systemRoles: readonly SystemRole[]
  roleIds: readonly string[]
  /** names of all roles, as `subject.roles`; the system roles where absent */
  roles?: readonly string[]
  /** the member's own attributes, as `subject.<key>` */
  attributes?: Readonly<Record<string, unknown>>
  /** of the tenant's own roles: `resource:verb` or `resource:*` */
  permissions: readonly string[]
  departmentId: string | null
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
}

export interface TenantFacts {
  id: string
  status: 'active' | 'suspended' | 'archived'
  requireMfa: boolean
  /** IANA, which hour and weekday follow; UTC where absent */
  timeZone?: string
}

/** What is acted on. `tenantId` is the tenant it lives in, null only for actions that need no tenant. */
export interface Resource {
  type: string
  id: string | null
  tenantId: string | null
  ownerId: string | null
  /** the resource's own fields, as `resource.<key>`; times as RFC 3339 texts or Dates */
  fields?: Readonly<Record<string, unknown>>
}

export interface Environment {
  ip: string | null
  userAgent: string | null
}

/** An approved request that is not used yet, as it was found; whether it answers a gate is for the engine. */
export interface GrantedApproval {
  id: string
  subjectId: string
  action: string
  resourceType: string
  resourceId: string | null
  /** ms since the epoch */
  validUntil: number
  /** the gates it was asked for; an edited policy asks again */
  gates: readonly { policyId: string; version: number }[]
}

interface Question {
  requestId: string
  now: number
  phase: 'route' | 'resource'
  resource: Resource
  environment: Environment
  /** the tenant's policies for this action and resource type, at the tenant's present revision */
  slice: Slice
  approval?: GrantedApproval | null
  /** whether anybody but the subject could approve now; asked only of owners changing policies; true if absent */
  othersCanApprove?: boolean
}

/**
 * One question to the engine. Phase `route` asks whether the action could be permitted at all (a grant about
 * one's own objects counts); phase `resource` asks about this resource. `now` is in ms since the epoch.
 */
export interface DecisionQuery extends Question {
  subject: Subject
  tenant: TenantFacts | null
  action: ActionName
}

/** A subject an application asks about: without a session, and not necessarily a member. */
export interface ApplicationSubject extends Omit<Subject, 'type' | 'email' | 'session'> {
  type: string
  email: string | null
  session: SessionFacts | null
}

/** What an application sends along; it never replaces a built-in or a member's attribute. */
export interface SentAttributes {
  subject?: Readonly<Record<string, unknown>>
  resource?: Readonly<Record<string, unknown>>
  action?: Readonly<Record<string, unknown>>
  environment?: Readonly<Record<string, unknown>>
}

/** One question about an action of an application (see `isApplicationAction`). */
export interface ApplicationQuery extends Question {
  application: true
  subject: ApplicationSubject
  tenant: TenantFacts
  action: ApplicationAction
  sent?: SentAttributes
}

export type AnyQuery = DecisionQuery | ApplicationQuery

/**
 * The query as the policies read it. The one place where names change, and no more than rules look at: each
 * member costs a tenth of a µs. What conditions look at is in `attrs`.
 */
export function policyInput(query: AnyQuery) {
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
      session: subject.session && { token: subject.session.token },
    },
    tenant: tenant && { id: tenant.id, status: tenant.status },
    action: query.action,
    resource: {
      type: resource.type,
      id: resource.id,
      tenant_id: resource.tenantId,
      owner_id: resource.ownerId,
    },
    attrs: attributesOf(query),
    approval: approvalInput(query.approval),
    others_can_approve: query.othersCanApprove ?? true,
  }
}

export type PolicyInput = ReturnType<typeof policyInput>

// Of permissions only those that can decide: roles may list thousands, each of which would cost time in the module.
function membershipInput(membership: Membership | null, action: string) {
  if (membership === null) return null
  const deciding = [action, `${action.split(':')[0]}:*`]
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
