import type { Deps } from '../../deps.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { makeKey, publishedMs } from './key-ring.ts'
import { deleteRetiredKeys, insertKey, lockKeys, retireKeys } from './store.ts'

/**
 * Adds a signing key of JWT_ALGORITHM; gives its `kid` and when it begins to sign (ms since 1970): after 90 s, when
 * every process and verifier knows it. A process begins at its next reading of the keys, up to 60 s later. Older keys
 * verify until the last token they may still sign has expired, and are deleted by a later rotation. Throws where the
 * keys are those of JWT_PRIVATE_KEYS.
 */
export async function rotateKeys(
  deps: Pick<Deps, 'sealer' | 'config' | 'clock'> & { db: Pick<Deps['db'], 'system'> },
): Promise<{ kid: string; signsAt: number }> {
  const { config, db, clock } = deps
  if (config.JWT_PRIVATE_KEYS)
    throw new Error('The keys are those of JWT_PRIVATE_KEYS: put a new one in front there, and restart.')
  const now = clock()
  const key = await makeKey(deps, now)
  const signsAt = now + publishedMs
  await asSystem(db, 'keys belong to no tenant', async (tx) => {
    await lockKeys(tx)
    await retireKeys(tx, signsAt + longestLifeMs(config))
    await insertKey(tx, key)
    await deleteRetiredKeys(tx, now)
  })
  return { kid: key.kid, signsAt }
}

/** How long a token may live that is signed by the last breath of a key; the tolerance of clocks included. */
function longestLifeMs(config: Deps['config']): number {
  const { ACCESS_TOKEN_VALIDITY_SECONDS, REFRESH_TOKEN_VALIDITY_SECONDS } = config
  const { OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS } = config
  const lives = [
    ACCESS_TOKEN_VALIDITY_SECONDS,
    REFRESH_TOKEN_VALIDITY_SECONDS,
    OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS,
  ]
  // A process may go on signing with the old key for the minute between two of its readings.
  return (Math.max(...lives) + 65) * 1000
}
