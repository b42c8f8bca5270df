import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { requireDepartment } from '../departments/create-department.ts'
import { type AccountRow, changeAccount, findAccount, storedStatus } from '../members/account-store.ts'
import { findRequestedRoles } from '../members/add-member.ts'
import { checkAttributes } from '../members/check-attributes.ts'
import { assertCanChange } from '../members/keep-owners.ts'
import { replaceRoles } from '../members/roles-store.ts'
import { assertCanGrant, assertNoOwner } from '../members/update-member.ts'
import { type AccountChange, auditedAccount } from './account-schemas.ts'
import type { LockedAccount } from './lock-account.ts'

/**
 * Changes a service account; it takes effect at its next request. Does nothing when nothing changes. Refusals are those
 * of a change of a member, and 400 for the role owner.
 */
export async function updateAccount(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  account: LockedAccount,
  { body: change, ifMatch }: { body: AccountChange; ifMatch: Versions },
): Promise<AccountRow> {
  const { tenantId } = caller
  const at = clock()
  const { id } = account
  assertAmong(ifMatch, account.version)
  assertCanChange(caller, account)
  const roles = change.roles && (await findRequestedRoles(tx, tenantId, change.roles))
  assertNoOwner(roles ?? [])
  assertCanGrant(caller, { ...account, manager_id: null, external_id: null }, roles ?? [], change)
  const { name = account.name, description = account.description, attributes = account.attributes } = change
  const { department_id: departmentId = account.department_id } = change
  const status = change.status ? storedStatus(change.status) : account.status
  await Promise.all([
    change.attributes && checkAttributes(tx, tenantId, attributes),
    change.department_id && requireDepartment(tx, tenantId, change.department_id, 'department_id'),
  ])
  const names = roles?.map((role) => role.name) ?? account.roles
  const next = {
    ...account,
    name,
    description,
    status,
    attributes,
    department_id: departmentId,
    roles: names,
  }
  if (isDeepStrictEqual(valuesOf(next), valuesOf(account))) return account
  if (roles) replaceRoles(tx, { tenantId, memberId: id, roleIds: roles.map((role) => role.id) })
  changeAccount(tx, { tenantId, id, name, description, departmentId, attributes, status, at })
  const changed = (await findAccount(tx, tenantId, id)) ?? account
  await recordChange(tx, caller, at, {
    event: 'tenant.service_account_updated',
    data: { service_account_id: id },
    action: 'service_account:update',
    target: { type: 'service_account', id },
    changes: changesBetween(auditedAccount(account), auditedAccount(changed)),
  })
  return changed
}

/** What a change can change. Attributes of a row have another prototype than those of a body. */
const valuesOf = ({ name, description, roles, status, attributes, department_id }: AccountRow) =>
  [name, description, roles, status, { ...attributes }, department_id] as const
