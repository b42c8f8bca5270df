import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { makeKey, publishedMs } from './key-ring.ts'
import { deleteRetiredKeys, insertKey, listKeys, lockKeys, retireKeys } from './store.ts'

/**
 * Adds a signing key of JWT_ALGORITHM and, where ID tokens have been signed, one for them; returns their `kid`s and the
 * time at which they begin to sign (ms since 1970): after 90 s, when every process and verifier knows it. A process begins at its next read of the keys, up to 60 s later. Older
 * keys verify until the last token that they can sign has expired; a later rotation deletes them. Throws if
 * JWT_PRIVATE_KEYS is set.
 */
export async function rotateKeys(
  deps: Pick<Deps, 'sealer' | 'config' | 'clock'> & { db: Pick<Deps['db'], 'system'> },
): Promise<{ kid: string; idTokenKid: string | null; signsAt: number }> {
  const { config, db, clock } = deps
  if (config.JWT_PRIVATE_KEYS)
    throw new Error('The keys come from JWT_PRIVATE_KEYS: put a new key first there, and restart.')
  const now = clock()
  const signsAt = now + publishedMs
  const signsIdTokens = (
    await asSystem(db, 'keys belong to no tenant', (tx) => listKeys(tx, 'id_tokens', now))
  ).length
  const uses = signsIdTokens > 0 ? (['tokens', 'id_tokens'] as const) : (['tokens'] as const)
  const made = await Promise.all(uses.map(async (use) => ({ use, key: await makeKey(deps, use, now) })))
  await asSystem(db, 'keys belong to no tenant', async (tx) => {
    await lockKeys(tx)
    for (const { use, key } of made) {
      await retireKeys(tx, use, signsAt + longestLifeMs(config))
      await insertKey(tx, use, key)
      await deleteRetiredKeys(tx, use, now)
    }
  })
  return { kid: made[0]!.key.kid, idTokenKid: made[1]?.key.kid ?? null, signsAt }
}

/** How long the last token that a key signs can be valid, including the tolerance for clocks. */
function longestLifeMs(config: Deps['config']): number {
  const { ACCESS_TOKEN_VALIDITY_SECONDS, REFRESH_TOKEN_VALIDITY_SECONDS } = config
  const { OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS } = config
  const lives = [
    ACCESS_TOKEN_VALIDITY_SECONDS,
    REFRESH_TOKEN_VALIDITY_SECONDS,
    OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS,
  ]
  // A process reads the keys once a minute, so it can sign with the old key for up to a minute longer.
  return (Math.max(...lives) + 65) * 1000
}
