import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { deleteTrusts } from '../members/account-store.ts'
import { assertCanChange } from '../members/keep-owners.ts'
import { deleteMember } from '../members/store.ts'
import { auditedAccount } from './account-schemas.ts'
import type { LockedAccount } from './lock-account.ts'

/** Deletes a service account. Its keys and trusts are deleted with it. 403 for an account with permissions that the caller lacks. */
export async function deleteAccount(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  account: LockedAccount,
  versions: Versions,
): Promise<void> {
  assertAmong(versions, account.version)
  assertCanChange(caller, account)
  const { id } = account
  const at = clock()
  deleteTrusts(tx, { tenantId: caller.tenantId, id })
  await deleteMember(tx, { tenantId: caller.tenantId, id, userId: null, at })
  await recordChange(tx, caller, at, {
    event: 'tenant.service_account_deleted',
    data: { service_account_id: id },
    action: 'service_account:delete',
    target: { type: 'service_account', id },
    changes: changesBetween(auditedAccount(account), null),
  })
}
