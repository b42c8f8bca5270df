import { isDeepStrictEqual } from 'node:util'
import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../platform/audit/append-audit.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { Versions } from '../../platform/db/version.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { assertAmong } from '../../platform/http/etag.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { causedBy } from '../../platform/outbox/caused-by.ts'
import { assertGivable, holderOf, holds, refused } from '../roles/grantable-roles.ts'
import type { RoleRow } from '../roles/store.ts'
import { departmentAsked, rolesAsked } from './add-member.ts'
import { checkAttributes } from './check-attributes.ts'
import { assertMayTouch, assertOwnerRemains } from './keep-owners.ts'
import { auditedMember, type MemberChange } from './member-schemas.ts'
import { changeMember, findMember, type MemberRow, replaceRoles } from './store.ts'

/**
 * Changes a membership, for its person from their next request on; nothing happens where it is so already. 403 above
 * the caller's own permissions and on owners by others, 409 `last_owner`.
 */
export async function updateMember(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  member: MemberRow,
  { body: change, ifMatch }: { body: MemberChange; ifMatch: Versions },
): Promise<MemberRow> {
  const { tenantId } = caller
  const at = clock()
  const { id: memberId } = member
  assertAmong(ifMatch, member.version)
  assertMayTouch(caller, member)
  const roles = change.roles && (await rolesAsked(tx, tenantId, change.roles))
  assertMayGive(caller, member, roles ?? [], change)
  if (change.attributes) await checkAttributes(tx, tenantId, change.attributes)
  if (!(await apply(tx, tenantId, member, roles, change, at))) return member
  if (member.roles.includes('owner')) await assertOwnerRemains(tx, tenantId)
  await appendEvent(tx, {
    ...causedBy(caller, at),
    type: 'tenant.member_updated',
    subject: memberId,
    data: { membership_id: memberId, user_id: member.user_id },
  })
  const changed = (await findMember(tx, tenantId, memberId)) ?? member
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'member:update',
    target: { type: 'member', id: memberId },
    changes: changesBetween(auditedMember(member), auditedMember(changed)),
  })
  return changed
}

/**
 * Nobody gives what they lack, and nobody raises themselves. Policies read a person's roles, department and
 * attributes, so these are one's own to add only for whoever may change the policies as well; giving up is free.
 */
function assertMayGive(caller: Caller, member: MemberRow, roles: readonly RoleRow[], change: MemberChange) {
  const giver = holderOf(caller)
  const added = roles.filter((role) => !member.roles.includes(role.name))
  assertGivable(giver, added)
  const { department_id = member.department_id, attributes = member.attributes } = change
  const raises =
    added.length > 0 ||
    department_id !== member.department_id ||
    !isDeepStrictEqual({ ...attributes }, { ...member.attributes })
  if (member.user_id === caller.userId && raises && !holds(giver, 'policy:update'))
    throw refused('You cannot change your own department or attributes, or give yourself a role.')
}

async function apply(
  tx: Tx,
  tenantId: string,
  member: MemberRow,
  roles: readonly RoleRow[] | undefined,
  change: MemberChange,
  at: number,
): Promise<boolean> {
  const { status = member.status, attributes = member.attributes } = change
  const departmentId =
    change.department_id === undefined
      ? member.department_id
      : await departmentAsked(tx, tenantId, change.department_id)
  const rolesChanged =
    roles !== undefined &&
    (await replaceRoles(tx, { tenantId, memberId: member.id, roleIds: roles.map((role) => role.id) }))
  return changeMember(tx, { tenantId, id: member.id, status, attributes, departmentId, rolesChanged, at })
}
