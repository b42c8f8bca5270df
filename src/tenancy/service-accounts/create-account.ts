import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { requireDepartment } from '../departments/create-department.ts'
import { type AccountRow, countAccounts, findAccount, insertAccount } from '../members/account-store.ts'
import { findRequestedRoles } from '../members/add-member.ts'
import { checkAttributes } from '../members/check-attributes.ts'
import { assertNoOwner } from '../members/update-member.ts'
import { assertGrantable, assertMayDescribe, holderOf } from '../roles/grantable-roles.ts'
import { auditedAccount, type NewAccount } from './account-schemas.ts'

/**
 * Creates a service account. It has no key yet. 400 for an unknown role or department and for the role owner, 403 for a
 * role with permissions that the caller lacks, 409 `limit_reached`.
 */
export async function createAccount(
  tx: Tx,
  { clock, config }: Deps,
  caller: Caller,
  body: NewAccount,
): Promise<AccountRow> {
  const { tenantId, userId: createdBy } = caller
  const at = clock()
  const id = timeOrderedId(at)
  const max = config.LIMIT_SERVICE_ACCOUNTS
  await lockTenant(tx, tenantId)
  const [count, roles] = await Promise.all([
    countAccounts(tx, tenantId),
    findRequestedRoles(tx, tenantId, body.roles),
  ])
  if (count >= max)
    throw new ApiError(409, 'limit_reached', `A tenant can have at most ${max} service accounts.`)
  assertNoOwner(roles)
  assertGrantable(holderOf(caller), roles)
  const { name, description, department_id: departmentId = null, attributes = {} } = body
  assertMayDescribe(caller, { department_id: departmentId, attributes })
  await Promise.all([
    requireDepartment(tx, tenantId, departmentId, 'department_id'),
    body.attributes && checkAttributes(tx, tenantId, attributes),
  ])
  const roleIds = roles.map((role) => role.id)
  insertAccount(tx, { tenantId, id, name, description, departmentId, attributes, roleIds, createdBy, at })
  const account = await findAccount(tx, tenantId, id)
  if (!account) throw new Error('The new service account cannot be read')
  await recordChange(tx, caller, at, {
    event: 'tenant.service_account_created',
    data: { service_account_id: id },
    action: 'service_account:create',
    target: { type: 'service_account', id },
    changes: changesBetween(null, auditedAccount(account)),
  })
  return account
}
