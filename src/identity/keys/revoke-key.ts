import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { makeKey } from './key-ring.ts'
import { deleteKey, insertKey, type KeyUse, listKeys, lockKeys } from './store.ts'

type RevokeDeps = Pick<Deps, 'sealer' | 'config' | 'clock'> & { db: Pick<Deps['db'], 'system'> }

/**
 * Deletes a leaked signing key. Each process refuses the key's tokens after its next read of the keys, at most 60 s
 * later. Creates a new key if only retired ones are left, and returns its `kid`; null for a kid that does not exist. Throws if
 * JWT_PRIVATE_KEYS is set.
 */
export async function revokeKey(deps: RevokeDeps, kid: string): Promise<{ newKid: string | null } | null> {
  if (deps.config.JWT_PRIVATE_KEYS)
    throw new Error('The keys come from JWT_PRIVATE_KEYS: remove the leaked key there, and restart.')
  for (const use of ['tokens', 'id_tokens'] as const) {
    const revoked = await revokeOf(deps, use, kid)
    if (revoked) return revoked
  }
  return null
}

async function revokeOf(
  deps: RevokeDeps,
  use: KeyUse,
  kid: string,
): Promise<{ newKid: string | null } | null> {
  const now = deps.clock()
  const read = (tx: Tx) => listKeys(tx, use, now)
  const known = await asSystem(deps.db, 'keys belong to no tenant', read)
  if (!known.some((key) => key.kid === kid)) return null
  // Generating a key takes up to seconds, so it happens before the transaction, even if the key is not needed then.
  const fresh = await makeKey(deps, use, now)
  return asSystem(deps.db, 'keys belong to no tenant', async (tx) => {
    await lockKeys(tx)
    if (!(await deleteKey(tx, use, kid))) return null
    if ((await read(tx)).some(({ retires_at }) => retires_at === null)) return { newKid: null }
    await insertKey(tx, use, fresh)
    return { newKid: fresh.kid }
  })
}
