import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { invalidField } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { endGrantsOfMember } from '../../messages/logouts/store.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { requireDepartment } from '../departments/create-department.ts'
import { assertGrantable, holderOf, holds, refused } from '../roles/grantable-roles.ts'
import type { RoleRow } from '../roles/store.ts'
import { hasMadeKeyOf } from './account-store.ts'
import { findRequestedRoles, requireManager } from './add-member.ts'
import { checkAttributes } from './check-attributes.ts'
import { assertNotHeld } from './held-store.ts'
import { assertCanChange, assertOwnerRemains, type Changed } from './keep-owners.ts'
import { auditedMember, type MemberChange } from './member-schemas.ts'
import { nameMember } from './name-member.ts'
import { takeOverSuspension } from './person-store.ts'
import { recordMemberChange } from './record-member-change.ts'
import { replaceRoles } from './roles-store.ts'
import { changeMember, type MemberRow } from './store.ts'

/**
 * Changes a membership; it takes effect at the member's next request. Suspending it ends what applications may do for the
 * member. Does nothing when nothing changes. 403 for roles
 * with permissions that the caller lacks and for members above the caller, 409 `last_owner`, `key_taken` and `held_by_directory`.
 */
export async function updateMember(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  member: MemberRow & Changed,
  { body: change, ifMatch }: { body: MemberChange; ifMatch: Versions },
): Promise<MemberRow> {
  const { tenantId } = caller
  const at = clock()
  const { id: memberId } = member
  assertAmong(ifMatch, member.version)
  assertCanChange(caller, member)
  const [roles, isKept] = await Promise.all([
    change.roles && findRequestedRoles(tx, tenantId, change.roles),
    isKeptBy(tx, caller, member),
  ])
  if (member.kind === 'service_account') assertAccountCan(change, roles ?? [])
  assertCanGrant(caller, member, roles ?? [], change, isKept)
  await Promise.all([
    change.attributes && checkAttributes(tx, tenantId, change.attributes),
    change.department_id && requireDepartment(tx, tenantId, change.department_id, 'department_id'),
    change.status === 'active' && member.status === 'suspended' && assertNotHeld(tx, tenantId, memberId),
    change.manager_id && requireManager(tx, tenantId, change.manager_id, member.user_id ?? memberId),
  ])
  if (change.status === 'suspended') takeOverSuspension(tx, { tenantId, id: memberId })
  const changed = changedMember(member, roles, change, at)
  if (!changed) return member
  if (roles) replaceRoles(tx, { tenantId, memberId, roleIds: roles.map((role) => role.id) })
  const {
    status,
    attributes,
    department_id: departmentId,
    manager_id: managerId,
    external_id: externalId,
  } = changed
  if (externalId !== member.external_id) await nameMember(tx, { tenantId, memberId, externalId })
  changeMember(tx, { tenantId, id: memberId, status, attributes, departmentId, managerId, at })
  if (status === 'suspended' && member.user_id !== null)
    await endGrantsOfMember(tx, { tenantId, userId: member.user_id }, at)
  if (member.roles.includes('owner')) await assertOwnerRemains(tx, tenantId)
  const changes = changesBetween(auditedMember(member), auditedMember(changed))
  await recordMemberChange(tx, caller, at, member, { what: 'changed', action: 'member:update', changes })
  return changed
}

/** Whether the caller is a service account, and the member made a key of it: what it does for them, they do. */
const isKeptBy = async (tx: Tx, { tenantId, userId, subjectType }: Caller, { user_id }: MemberRow) =>
  subjectType === 'service_account' &&
  user_id !== null &&
  hasMadeKeyOf(tx, { tenantId, accountId: userId, userId: user_id })

/**
 * Callers cannot grant permissions that they lack, nor raise their own. Policies read roles, department, manager and
 * attributes, so callers can add roles to themselves, change their own department, manager or attributes, or become the
 * manager of another member, only with the permission `policy:update`. The same holds for the member whom they act as,
 * for the maker of a key (`isKept`), and for department and attributes of service accounts, whose keys they can hold.
 * It also holds for every `external_id`: a question of an application names a person by it, and is decided by what that
 * member has. Giving up own roles is always allowed.
 */
export function assertCanGrant(
  caller: Caller,
  member: Pick<
    MemberRow,
    'id' | 'user_id' | 'roles' | 'department_id' | 'manager_id' | 'attributes' | 'external_id'
  >,
  roles: readonly RoleRow[],
  change: Pick<MemberChange, 'department_id' | 'manager_id' | 'attributes' | 'external_id'>,
  isKept = false,
): void {
  const giver = holderOf(caller)
  const { external_id = member.external_id } = change
  if (external_id !== member.external_id && !holds(giver, 'policy:update'))
    throw refused('Changing an external_id takes the permission policy:update.')
  const added = roles.filter((role) => !member.roles.includes(role.name))
  assertGrantable(giver, added)
  const { department_id = member.department_id, attributes = member.attributes } = change
  const { manager_id = member.manager_id } = change
  const moves =
    department_id !== member.department_id ||
    manager_id !== member.manager_id ||
    !isDeepStrictEqual({ ...attributes }, { ...member.attributes })
  const holder = member.user_id ?? member.id
  const isCaller = (id: string | null) =>
    id === caller.userId || (id !== null && id === caller.impersonator?.id)
  const isOwn = isKept || isCaller(holder)
  const isAccount = member.user_id === null
  const leads = manager_id !== member.manager_id && isCaller(manager_id)
  const raises = (isOwn && (moves || added.length > 0)) || (isAccount && moves) || leads
  if (raises && !holds(giver, 'policy:update'))
    throw refused(
      'Without the permission policy:update you cannot change your own department, manager or attributes, give yourself a role, or become the manager of a member.',
    )
}

function assertAccountCan({ external_id }: MemberChange, roles: readonly RoleRow[]): void {
  if (external_id)
    throw invalidField('external_id', 'Only people have an external_id. Name a service account by its id.')
  assertNoOwner(roles)
}

/**
 * Throws 400 for the role of an owner, which a service account cannot have: owners are people, who can recover access.
 */
export function assertNoOwner(roles: readonly RoleRow[]): void {
  if (roles.some(({ is_system, name }) => is_system && name === 'owner'))
    throw invalidField(
      'roles',
      'A service account cannot be an owner. Give it the role admin, or one of your own.',
    )
}

/** The member after a change; null when nothing changes. */
function changedMember(
  member: MemberRow,
  roles: readonly RoleRow[] | undefined,
  change: MemberChange,
  at: number,
): MemberRow | null {
  const { status = member.status, attributes = member.attributes } = change
  const { department_id = member.department_id, manager_id = member.manager_id } = change
  const { external_id = member.external_id } = change
  const names = roles ? roles.map((role) => role.name) : member.roles
  const next = { roles: names, status, attributes, department_id, manager_id, external_id }
  if (isDeepStrictEqual(valuesOf(next), valuesOf(member))) return null
  return { ...member, ...next, version: member.version + 1, updated_at: at }
}

type Values = Pick<
  MemberRow,
  'roles' | 'status' | 'attributes' | 'department_id' | 'manager_id' | 'external_id'
>

/** What a change can change. Attributes of a row have another prototype than those of a body. */
const valuesOf = ({ roles, status, attributes, department_id, manager_id, external_id }: Values) =>
  [roles, status, { ...attributes }, department_id, manager_id, external_id] as const
