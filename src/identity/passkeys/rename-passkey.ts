import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import type { Caller } from '../../request/caller.ts'
import { notifyPerson } from '../users/notify-people.ts'
import { type PasskeyRow, renamePasskey as rename } from './store.ts'

/** Renames a locked passkey of the caller, and tells them. A passkey that has the name already is left alone. */
export async function renamePasskey(
  tx: Tx,
  { sealer, clock }: Deps,
  caller: Caller,
  passkey: PasskeyRow,
  name: string,
): Promise<PasskeyRow> {
  if (passkey.name === name) return passkey
  const at = clock()
  const { userId, tokenTenantId: tenantId, requestInfo, auth } = caller
  await rename(tx, { userId, id: passkey.id, name })
  await recordChange(tx, caller, at, {
    event: 'identity.passkey_renamed',
    data: { user_id: userId, passkey_id: passkey.id },
    action: 'passkey:update',
    target: { type: 'passkey', id: passkey.id },
    changes: changesBetween({ name: passkey.name }, { name }),
  })
  const variables = { before: passkey.name, after: name, firstName: auth.user.firstName }
  const mail = { tenantId, template: 'passkey_renamed', variables } as const
  await notifyPerson(tx, sealer, userId, { ...mail, requestInfo, at })
  return { ...passkey, name }
}
