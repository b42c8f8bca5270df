import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidField, notFound } from '../../errors.ts'
import { type AuditActor, changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { linkUrl } from '../../messages/links/mailed-links.ts'
import { makeLinkToken } from '../../messages/links/one-time-link.ts'
import { signature } from '../../messages/mail/free-text.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import type { Caller } from '../../request/caller.ts'
import { requireDepartment } from '../departments/create-department.ts'
import { assertGrantable, assertMayDescribe, holderOf } from '../roles/grantable-roles.ts'
import { lockRolesNamed, type RoleRow, roleNameKey } from '../roles/store.ts'
import { assertProvenDomain } from '../tenants/email-domains.ts'
import { findTenant } from '../tenants/store.ts'
import { checkAttributes } from './check-attributes.ts'
import { auditedMember, type NewMember } from './member-schemas.ts'
import { nameMember } from './name-member.ts'
import { findPerson, type Person } from './person-store.ts'
import { findMember, insertMember, lockMemberShared, type MemberRow } from './store.ts'

/**
 * Adds a person, known by id, to the caller's tenant and notifies them by mail. 400 for an unknown person, role or
 * department, 403 for a role with permissions that the caller lacks, and without `policy:update` for a department, a
 * manager, attributes or an `external_id`, 409 `already_member` or `key_taken`, 409 `overtaken` for a person who changed
 * since they were read, 429 `throttled` for too many
 * mails to this person or to too many people outside the tenant.
 */
export async function addMember(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  user: Person,
  body: NewMember,
): Promise<MemberRow> {
  const { tenantId, userId } = caller
  const at = deps.clock()
  await lockTenant(tx, tenantId)
  const roles = await findRequestedRoles(tx, tenantId, body.roles)
  assertGrantable(holderOf(caller), roles)
  assertMayDescribe(caller, body)
  const departmentId = body.department_id ?? null
  await requireDepartment(tx, tenantId, departmentId, 'department_id')
  const managerId = body.manager_id ?? null
  if (managerId !== null) await requireManager(tx, tenantId, managerId, user.id)
  const tenant = await findTenant(tx, tenantId, userId)
  if (!tenant) throw notFound()
  assertProvenDomain(tenant.settings.allowed_email_domains, user)
  const { attributes, external_id: externalId = null } = body
  if (attributes) await checkAttributes(tx, tenantId, attributes)
  const joining = { id: null, user, roles, departmentId, managerId, attributes, externalId, at }
  return joinMember(tx, deps, caller, { ...joining, mailsAs: tenant.name })
}

interface Joining {
  /** As {@link insertMember} takes it. */
  id: string | null
  user: Person
  roles: readonly RoleRow[]
  departmentId?: string | null
  managerId?: string | null
  attributes?: Record<string, unknown> | undefined
  externalId: string | null
  /** The name of the tenant in a mail to the person; null for no mail. */
  mailsAs: string | null
  /** ms since 1970 */
  at: number
}

/** Who adds a member: a caller, or the person themselves. */
export type Joiner = AuditActor & { auth: { user: Parameters<typeof signature>[0] } }

/** Makes a person a member, whom the caller may add. 409 `already_member`, `key_taken` and `overtaken`. */
export async function joinMember(
  tx: Tx,
  deps: Deps,
  caller: Joiner,
  {
    user,
    roles,
    departmentId = null,
    managerId = null,
    attributes,
    externalId,
    mailsAs,
    at,
    ...joining
  }: Joining,
): Promise<MemberRow> {
  const { tenantId } = caller
  const roleIds = roles.map((role) => role.id)
  const added = { ...joining, tenantId, userId: user.id, departmentId, managerId, roleIds, attributes, at }
  const id = await insertMember(tx, added, user)
  if (id === null) throw new ApiError(409, 'already_member', 'This person is already a member.')
  if (externalId !== null) await nameMember(tx, { tenantId, memberId: id, externalId })
  if (mailsAs !== null) await mailAdded(tx, deps, caller, { user, membershipId: id, tenantName: mailsAs, at })
  const member = await findMember(tx, tenantId, id)
  if (!member) throw new Error('The new member cannot be read')
  await recordChange(tx, caller, at, {
    event: 'tenant.member_added',
    data: { membership_id: id, user_id: user.id },
    action: 'member:create',
    target: { type: 'member', id },
    changes: changesBetween(null, auditedMember(member)),
  })
  return member
}

/** Finds the person to add. They belong to other tenants so far. 400 on `user_id` for an unknown id. */
export async function personToAdd({ db }: Pick<Deps, 'db'>, { user_id: id }: NewMember): Promise<Person> {
  const user = await asSystem(db, 'a person to be added belongs to other tenants as yet', (tx) =>
    findPerson(tx, id),
  )
  if (!user) throw invalidField('user_id', 'There is no person with this id.', 'unknown')
  return user
}

interface Added {
  user: { id: string; email: string }
  membershipId: string
  tenantName: string
  at: number
}

/** People are added without being asked, so the mail names who added them and holds a link that leaves the tenant. */
async function mailAdded(tx: Tx, deps: Deps, caller: Joiner, added: Added): Promise<void> {
  const { tenantId, requestInfo, auth } = caller
  const { user, membershipId, tenantName, at } = added
  const token = await makeLinkToken(tx, {
    purpose: 'tenant_leave',
    userId: user.id,
    tenantId,
    email: user.email,
    targetId: membershipId,
    at,
    lifeMs: deps.config.INVITATION_VALIDITY_SECONDS * 1000,
  })
  const link = linkUrl(deps, 'tenant_leave', token, { organization: tenantId })
  await sendMail(tx, deps.sealer, {
    tenantId,
    to: user.email,
    template: 'added_to_tenant',
    variables: { tenantName, addedBy: signature(auth.user), link },
    requestInfo,
    at,
  })
}

/** Throws 400 on `manager_id` unless it is another member, who cannot be removed until the transaction ends. */
export async function requireManager(
  tx: Tx,
  tenantId: string,
  managerId: string,
  userId: string,
): Promise<void> {
  if (managerId === userId) throw invalidField('manager_id', 'A member cannot be their own manager.')
  if (!(await lockMemberShared(tx, tenantId, managerId)))
    throw invalidField('manager_id', 'This tenant has no member with this user id.', 'unknown')
}

/** Finds roles by name or id and locks them until the transaction ends. 400 on `roles` for an unknown one. */
export async function findRequestedRoles(
  tx: Tx,
  tenantId: string,
  namesOrIds: readonly string[],
): Promise<readonly RoleRow[]> {
  const found = await lockRolesNamed(tx, tenantId, namesOrIds)
  const known = new Set(found.flatMap((role) => [role.id, roleNameKey(role.name)]))
  const unknown = namesOrIds.find((name) => !known.has(roleNameKey(name)))
  if (unknown === undefined) return found
  throw invalidField('roles', `This tenant has no role "${unknown}".`, 'unknown')
}
