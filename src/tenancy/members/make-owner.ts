import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit, changesBetween } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { lockRolesNamed } from '../roles/store.ts'
import { assertDomainAllowed } from '../tenants/email-domains.ts'
import type { NamedTenant } from '../tenants/store.ts'
import { auditedMember } from './member-schemas.ts'
import { replaceRoles } from './roles-store.ts'
import { changeMember, findMember, insertMember, type MemberRow } from './store.ts'

interface NewOwner {
  tenant: NamedTenant
  person: { id: string; email: string; firstName: string; lastName: string }
  /** Null when the person is not a member yet. */
  membershipId: string | null
  requestInfo: RequestInfo
  at: number
}

/**
 * Makes a person an active owner of a tenant, in addition to their other roles. For operators: the audit log names the
 * service as actor. The transaction's scope must be the tenant and the person. 400 `email_domain_not_allowed` as for
 * every new member.
 */
export async function makeOwner(tx: Tx, owner: NewOwner): Promise<void> {
  const { tenant, membershipId } = owner
  await lockTenant(tx, tenant.id)
  const before = membershipId === null ? null : await findMember(tx, tenant.id, membershipId)
  const id = before ? await promote(tx, owner, before) : await addAsOwner(tx, owner)
  const after = await findMember(tx, tenant.id, id)
  if (!after) throw new Error('The new owner cannot be read')
  await record(tx, owner, before, after)
}

async function addAsOwner(tx: Tx, { tenant, person, at }: NewOwner): Promise<string> {
  assertDomainAllowed(tenant.settings.allowed_email_domains, person.email, 'email')
  const roles = await lockRolesNamed(tx, tenant.id, ['owner'])
  const roleIds = roles.map((role) => role.id)
  const member = { id: null, tenantId: tenant.id, userId: person.id, departmentId: null, roleIds, at }
  const id = await insertMember(tx, member)
  if (id === null) throw new Error('The person has just become a member. Run the command again.')
  return id
}

async function promote(tx: Tx, { tenant, at }: NewOwner, member: MemberRow): Promise<string> {
  const roles = await lockRolesNamed(tx, tenant.id, [...member.roles, 'owner'])
  const { id, department_id: departmentId, manager_id: managerId, attributes } = member
  if (member.roles.includes('owner') && member.status === 'active') return id
  replaceRoles(tx, { tenantId: tenant.id, memberId: id, roleIds: roles.map((role) => role.id) })
  changeMember(tx, { tenantId: tenant.id, id, status: 'active', attributes, departmentId, managerId, at })
  return id
}

async function record(
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
