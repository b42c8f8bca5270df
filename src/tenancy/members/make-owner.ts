import { appendAudit, changesBetween } from '../../platform/audit/append-audit.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { holdRolesNamed } from '../roles/store.ts'
import { assertDomainAllowed } from '../tenants/email-domains.ts'
import { lockTenant, type NamedTenant } from '../tenants/store.ts'
import { auditedMember } from './member-schemas.ts'
import { changeMember, findMember, insertMember, type MemberRow, replaceRoles } from './store.ts'

interface NewOwner {
  tenant: NamedTenant
  person: { id: string; email: string; firstName: string; lastName: string }
  /** Null for who is no member yet. */
  membershipId: string | null
  requestInfo: RequestInfo
  at: number
}

/**
 * Makes a person an active owner of a tenant, beside the roles they have, for an operator; the deed is the service's
 * own. The scope must be the tenant and the person. 400 `email_domain_not_allowed` as for every new member.
 */
export async function makeOwner(tx: Tx, owner: NewOwner): Promise<void> {
  const { tenant, membershipId } = owner
  await lockTenant(tx, tenant.id)
  const before = membershipId === null ? null : await findMember(tx, tenant.id, membershipId)
  const id = before ? await raise(tx, owner, before) : await join(tx, owner)
  const after = await findMember(tx, tenant.id, id)
  if (!after) throw new Error('The owner just made cannot be seen')
  await tell(tx, owner, before, after)
}

async function join(tx: Tx, { tenant, person, at }: NewOwner): Promise<string> {
  assertDomainAllowed(tenant.settings.allowed_email_domains, person.email, 'email')
  const roles = await holdRolesNamed(tx, tenant.id, ['owner'])
  const id = timeOrderedId(at)
  const roleIds = roles.map((role) => role.id)
  const member = { id, tenantId: tenant.id, user: person, departmentId: null, roleIds, at }
  if (!(await insertMember(tx, member)))
    throw new Error('They became a member just now. Run the command again.')
  return id
}

async function raise(tx: Tx, { tenant, at }: NewOwner, member: MemberRow): Promise<string> {
  const roles = await holdRolesNamed(tx, tenant.id, [...member.roles, 'owner'])
  const { id, department_id: departmentId, attributes } = member
  const given = { tenantId: tenant.id, memberId: id, roleIds: roles.map((role) => role.id) }
  const rolesChanged = await replaceRoles(tx, given)
  const status = 'active'
  await changeMember(tx, { tenantId: tenant.id, id, status, attributes, departmentId, rolesChanged, at })
  return id
}

async function tell(
  tx: Tx,
  { tenant, person, requestInfo, at }: NewOwner,
  before: MemberRow | null,
  after: MemberRow,
): Promise<void> {
  await appendEvent(tx, {
    type: before ? 'tenant.member_updated' : 'tenant.member_added',
    tenantId: tenant.id,
    subject: after.id,
    data: { membership_id: after.id, user_id: person.id },
    actorId: null,
    requestId: requestInfo.requestId,
    at,
  })
  await appendAudit(tx, {
    tenantId: tenant.id,
    actor: null,
    requestInfo,
    action: before ? 'member:update' : 'member:create',
    target: { type: 'member', id: after.id },
    changes: changesBetween(before && auditedMember(before), auditedMember(after)),
    at,
  })
}
