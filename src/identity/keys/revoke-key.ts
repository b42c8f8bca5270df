import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { makeKey } from './key-ring.ts'
import { deleteKey, insertKey, listKeys, lockKeys } from './store.ts'

/**
 * Deletes a leaked signing key. Each process refuses the key's tokens after its next read of the keys, at most 60 s
 * later. Creates a new key if only retired ones are left, and returns its `kid`; null for a kid that does not exist. Throws if
 * JWT_PRIVATE_KEYS is set.
 */
export async function revokeKey(
  deps: Pick<Deps, 'sealer' | 'config' | 'clock'> & { db: Pick<Deps['db'], 'system'> },
  kid: string,
): Promise<{ newKid: string | null } | null> {
  if (deps.config.JWT_PRIVATE_KEYS)
    throw new Error('The keys come from JWT_PRIVATE_KEYS: remove the leaked key there, and restart.')
  const now = deps.clock()
  // Generating a key takes up to seconds, so it happens before the transaction, even if the key is not needed then.
  const fresh = await makeKey(deps, now)
  return asSystem(deps.db, 'keys belong to no tenant', async (tx) => {
    await lockKeys(tx)
    if (!(await deleteKey(tx, kid))) return null
    if ((await listKeys(tx, now)).some(({ retires_at }) => retires_at === null)) return { newKid: null }
    await insertKey(tx, fresh)
    return { newKid: fresh.kid }
  })
}
