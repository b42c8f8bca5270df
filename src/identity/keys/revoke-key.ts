import type { Deps } from '../../deps.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { makeKey } from './key-ring.ts'
import { deleteKey, insertKey, listKeys, lockKeys } from './store.ts'

/**
 * Deletes a signing key, for one that leaked: each process refuses its tokens from its next look at the keys on, 60 s
 * later at most. Makes a new key where none is left, and gives its `kid`; null for a kid that does not exist.
 * Throws where the keys are those of JWT_PRIVATE_KEYS.
 */
export async function revokeKey(
  deps: Pick<Deps, 'sealer' | 'config' | 'clock'> & { db: Pick<Deps['db'], 'system'> },
  kid: string,
): Promise<{ newKid: string | null } | null> {
  if (deps.config.JWT_PRIVATE_KEYS)
    throw new Error('The keys are those of JWT_PRIVATE_KEYS: take the leaked one out there, and restart.')
  const now = deps.clock()
  return asSystem(deps.db, 'keys belong to no tenant', async (tx) => {
    await lockKeys(tx)
    if (!(await deleteKey(tx, kid))) return null
    if ((await listKeys(tx, now)).length > 0) return { newKid: null }
    const key = await makeKey(deps, now)
    await insertKey(tx, key)
    return { newKid: key.kid }
  })
}
