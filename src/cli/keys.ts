import type { Config } from '../config.ts'
import { rotateKeys } from '../identity/keys/rotate-keys.ts'
import { createSealer } from '../platform/crypto/seal.ts'
import { openPool } from '../platform/db/pool.ts'
import { resealAll } from '../platform/db/reseal.ts'

interface Asked {
  config: Config
  json: boolean
  print: (line: string) => void
}

const poolOptions = { size: 1, prepared: false, applicationName: 'bailiwick-keys' }

function needed<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`Set ${name}.`)
  return value
}

/** Adds a signing key, which running processes publish within 60 s and sign with after 90 s. Gives the exit code. */
export async function rotate({ config, json, print }: Asked): Promise<number> {
  const sealer = createSealer(needed(config.SECRET_KEYS, 'SECRET_KEYS'))
  const system = await openPool(needed(config.DATABASE_SYSTEM_URL, 'DATABASE_SYSTEM_URL'), poolOptions)
  try {
    const { kid, signsAt } = await rotateKeys({ config, sealer, clock: Date.now, db: { system } })
    const at = new Date(signsAt).toISOString()
    print(json ? JSON.stringify({ kid, signs_at: at }) : `Key ${kid} is published, and signs from ${at} on`)
    return 0
  } finally {
    await system.end()
  }
}

/** Seals anew what an older one of SECRET_KEYS sealed. Gives the exit code: 1 where something opens by none. */
export async function reseal({ config, json, print }: Asked): Promise<number> {
  const sealer = createSealer(needed(config.SECRET_KEYS, 'SECRET_KEYS'))
  const system = await openPool(needed(config.DATABASE_SYSTEM_URL, 'DATABASE_SYSTEM_URL'), poolOptions)
  const worker = await openPool(needed(config.DATABASE_WORKER_URL, 'DATABASE_WORKER_URL'), poolOptions)
  try {
    const tables = await resealAll({ system, worker }, sealer)
    const lines = tables.map(
      ({ table, resealed, lost }) =>
        `${table}: ${resealed} sealed anew${lost > 0 ? `, ${lost} that no key of SECRET_KEYS opens` : ''}`,
    )
    print(json ? JSON.stringify({ tables }) : lines.join('\n'))
    return tables.some(({ lost }) => lost > 0) ? 1 : 0
  } finally {
    await Promise.all([system.end(), worker.end()])
  }
}
