import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { notFound } from '../../errors.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import type { Caller } from '../../request/caller.ts'
import { type KeyRow, revokeKey } from './store.ts'

/** Revokes a key: every process refuses it from the next request on. 404 if it was revoked meanwhile. */
export async function deleteKey(tx: Tx, { clock }: Deps, caller: Caller, key: KeyRow): Promise<void> {
  const at = clock()
  const { id, name, user_id, membership_id } = key
  if (!(await revokeKey(tx, { tenantId: caller.tenantId, id, at }))) throw notFound()
  await recordChange(tx, caller, at, {
    event: 'identity.api_key_revoked',
    data: { api_key_id: id, user_id, service_account_id: user_id === null ? membership_id : null },
    action: 'api_key:delete',
    target: { type: 'api_key', id },
    changes: { name: { before: name, after: null } },
  })
}
