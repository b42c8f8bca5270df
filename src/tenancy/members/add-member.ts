import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../platform/audit/append-audit.ts'
import { asSystem, type Tx } from '../../platform/db/transaction.ts'
import { ApiError, invalidField, notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { makeLink } from '../../platform/links/one-time-link.ts'
import { signature } from '../../platform/mail/free-text.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { causedBy } from '../../platform/outbox/caused-by.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { holdDepartment } from '../departments/store.ts'
import { assertGivable, holderOf } from '../roles/grantable-roles.ts'
import { holdRolesNamed, type RoleRow, roleNameKey } from '../roles/store.ts'
import { assertDomainAllowed } from '../tenants/email-domains.ts'
import { findTenant } from '../tenants/store.ts'
import { checkAttributes } from './check-attributes.ts'
import { auditedMember, type NewMember } from './member-schemas.ts'
import { findMember, findPerson, insertMember, type MemberRow } from './store.ts'

/**
 * Adds a person, known by id, to the caller's tenant and tells them by mail. 400 for an unknown person, role or
 * department, 403 for a role that permits what the caller lacks, 409 `already_member`, 429 `throttled` for too many mails to them, or
 * to too many strangers.
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
  const id = timeOrderedId(at)
  const roles = await rolesAsked(tx, tenantId, body.roles)
  assertGivable(holderOf(caller), roles)
  const departmentId = await departmentAsked(tx, tenantId, body.department_id ?? null)
  const tenant = await findTenant(tx, tenantId, userId)
  if (!tenant) throw notFound()
  assertDomainAllowed(tenant.settings.allowed_email_domains, user.email, 'user_id')
  const roleIds = roles.map((role) => role.id)
  const { attributes } = body
  if (attributes) await checkAttributes(tx, tenantId, attributes)
  if (!(await insertMember(tx, { id, tenantId, user, departmentId, roleIds, attributes, at })))
    throw new ApiError(409, 'already_member', 'This person is a member already.')
  await appendEvent(tx, {
    ...causedBy(caller, at),
    type: 'tenant.member_added',
    subject: id,
    data: { membership_id: id, user_id: user.id },
  })
  await mailAdded(tx, deps, caller, { user, membershipId: id, tenantName: tenant.name, at })
  const member = await findMember(tx, tenantId, id)
  if (!member) throw new Error('The member just added cannot be seen')
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'member:create',
    target: { type: 'member', id: id },
    changes: changesBetween(null, auditedMember(member)),
  })
  return member
}

/** The person to be added, who belongs to other tenants as yet; 400 on `user_id` where there is none. */
export async function personToAdd({ db }: Pick<Deps, 'db'>, { user_id: id }: NewMember): Promise<Person> {
  const user = await asSystem(db, 'a person to be added belongs to other tenants as yet', (tx) =>
    findPerson(tx, id),
  )
  if (!user) throw invalidField('user_id', 'There is nobody with this id.', 'unknown')
  return user
}

type Person = NonNullable<Awaited<ReturnType<typeof findPerson>>>

interface Added {
  user: { id: string; email: string }
  membershipId: string
  tenantName: string
  at: number
}

/** Tells a person who was not asked: by whom they were added, with a link that leaves the tenant. */
async function mailAdded(tx: Tx, deps: Deps, caller: Caller, added: Added): Promise<void> {
  const { tenantId, requestInfo, auth } = caller
  const { user, membershipId, tenantName, at } = added
  const link = await makeLink(tx, deps, {
    purpose: 'tenant_leave',
    userId: user.id,
    tenantId,
    email: user.email,
    targetId: membershipId,
    at,
    lifeMs: deps.config.INVITATION_VALIDITY_SECONDS * 1000,
  })
  await sendMail(tx, deps.sealer, {
    tenantId,
    to: user.email,
    template: 'added_to_tenant',
    variables: { tenantName, addedBy: signature(auth.user), link },
    requestId: requestInfo.requestId,
    at,
  })
}

/** The roles asked for by name or id, held until the transaction ends; 400 on `roles` for one that is unknown. */
export async function rolesAsked(
  tx: Tx,
  tenantId: string,
  asked: readonly string[],
): Promise<readonly RoleRow[]> {
  const found = await holdRolesNamed(tx, tenantId, asked)
  const known = new Set(found.flatMap((role) => [role.id, roleNameKey(role.name)]))
  const unknown = asked.find((name) => !known.has(roleNameKey(name)))
  if (unknown === undefined) return found
  throw invalidField('roles', `This tenant has no role "${unknown}".`, 'unknown')
}

/** The department asked for, held until the transaction ends; 400 on `department_id` where there is none. */
export async function departmentAsked(tx: Tx, tenantId: string, id: string | null): Promise<string | null> {
  if (id === null || (await holdDepartment(tx, tenantId, id))) return id
  throw invalidField('department_id', 'This tenant has no department of this id.', 'unknown')
}
