import { type Config, roleUrls } from '../config.ts'
import { rotateKeys } from '../identity/keys/rotate-keys.ts'
import { createSealer, type Sealer } from '../platform/crypto/seal.ts'
import { openPool } from '../platform/db/pool.ts'
import { resealAll } from '../platform/db/reseal.ts'
import { type Outcome, Refused } from './command.ts'

const poolOptions = { size: 1, prepared: false, applicationName: 'bailiwick-keys' }

/** Adds a signing key, which running processes publish within 60 s, and sign with 90 to 150 s later. */
export async function rotate(config: Config): Promise<Outcome> {
  const sealer = sealerOf(config)
  const system = await openPool(roleUrls(config, ['system']).system, poolOptions)
  try {
    const { kid, signsAt } = await rotateKeys({ config, sealer, clock: Date.now, db: { system } })
    const at = new Date(signsAt).toISOString()
    return {
      data: { kid, signs_at: at },
      text: `Key ${kid} is published. Running processes sign with it from ${at} on, or up to a minute later`,
    }
  } finally {
    await system.end()
  }
}

/** Seals anew what an older one of SECRET_KEYS sealed; exit 1 where something opens by none. */
export async function reseal(config: Config): Promise<Outcome> {
  const sealer = sealerOf(config)
  const urls = roleUrls(config, ['system', 'worker'])
  const system = await openPool(urls.system, poolOptions)
  const worker = await openPool(urls.worker, poolOptions)
  try {
    const tables = await resealAll({ system, worker }, sealer)
    const lines = tables.map(
      ({ table, resealed, lost }) =>
        `${table}: ${resealed} sealed anew${lost > 0 ? `, ${lost} that no key of SECRET_KEYS opens` : ''}`,
    )
    const lost = tables.some((table) => table.lost > 0)
    return { exit: lost ? 1 : 0, data: { tables }, text: lines.join('\n') }
  } finally {
    await Promise.all([system.end(), worker.end()])
  }
}

/** What opens and seals secrets. Throws {@link Refused} where no key is set. */
export function sealerOf({ SECRET_KEYS: keys }: Config): Sealer {
  if (keys === undefined)
    throw new Refused('configuration', 'Set SECRET_KEYS: what is secret is sealed by them.')
  return createSealer(keys)
}
