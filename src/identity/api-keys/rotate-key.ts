import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { invalidState } from '../../errors.ts'
import type { Caller } from '../../request/caller.ts'
import { type MadeKey, makeAndRecord } from './create-key.ts'
import { type KeyHolder, type KeyRow, replaceKey } from './store.ts'

/**
 * Makes a key that replaces another: with its name and scopes, valid for as long as that one was when it was made. The
 * old one works for `overlap` seconds more, but never beyond its own end. 409 `invalid_state` for a key that expired or
 * was replaced before.
 */
export async function rotateKey(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  { holder, key, overlap }: { holder: KeyHolder; key: KeyRow; overlap: number },
): Promise<MadeKey> {
  const at = deps.clock()
  const { name, scopes } = key
  const lifeMs = key.expires_at - key.created_at
  const made = await makeAndRecord(tx, deps, caller, { holder, name, scopes, lifeMs, replaces: key.id })
  const successor = { successorId: made.id, at, endsAt: at + overlap * 1000 }
  if (await replaceKey(tx, { tenantId: holder.tenantId, id: key.id }, successor)) return made
  throw key.expires_at <= at
    ? invalidState('This key has expired. Create a new one.', 'expired')
    : invalidState('This key was replaced already.', 'rotated')
}
