import type { Deps } from '../../deps.ts'
import { changesBetween } from '../../platform/audit/append-audit.ts'
import { recordChange } from '../../platform/audit/record-change.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { Versions } from '../../platform/db/version.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { assertAmong } from '../../platform/http/etag.ts'
import { requireDepartment } from '../departments/create-department.ts'
import { type AccountRow, changeAccount, findAccount, shownStatus } from '../members/account-store.ts'
import { findRequestedRoles } from '../members/add-member.ts'
import { checkAttributes } from '../members/check-attributes.ts'
import { replaceRoles } from '../members/store.ts'
import { assertCanGrant, assertNoOwner } from '../members/update-member.ts'
import { type AccountChange, auditedAccount } from './account-schemas.ts'

/**
 * Changes a service account; it takes effect at its next request. Does nothing when nothing changes. Refusals are those
 * of a change of a member, and 400 for the role owner.
 */
export async function updateAccount(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  account: AccountRow,
  { body: change, ifMatch }: { body: AccountChange; ifMatch: Versions },
): Promise<AccountRow> {
  const { tenantId } = caller
  const at = clock()
  const { id } = account
  assertAmong(ifMatch, account.version)
  const roles = change.roles && (await findRequestedRoles(tx, tenantId, change.roles))
  assertNoOwner(roles ?? [])
  assertCanGrant(caller, { ...account, user_id: null, manager_id: null }, roles ?? [], change)
  const { name = account.name, description = account.description, attributes = account.attributes } = change
  const { department_id: departmentId = account.department_id, status = shownStatus(account.status) } = change
  if (change.attributes) await checkAttributes(tx, tenantId, attributes)
  if (change.department_id) await requireDepartment(tx, tenantId, departmentId, 'department_id')
  const roleIds = roles?.map((role) => role.id)
  const rolesChanged = roleIds !== undefined && (await replaceRoles(tx, { tenantId, memberId: id, roleIds }))
  const next = { tenantId, id, name, description, departmentId, attributes, status, rolesChanged, at }
  if (!(await changeAccount(tx, next))) return account
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
