import { availableParallelism } from 'node:os'
import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { openCallBudget } from './identity/guards/call-budget.ts'
import { openLimiters } from './identity/guards/limiters.ts'
import type { LimitName } from './identity/guards/limits.ts'
import { sweepGuards } from './identity/guards/sweep.ts'
import { loadKeyRing } from './identity/keys/key-ring.ts'
import { watchKeyRing } from './identity/keys/key-ring-watch.ts'
import { type AccessEngine, openAccessEngine } from './platform/access/engine.ts'
import { createPasswordHasher, type PasswordHasher } from './platform/crypto/passwords.ts'
import { createSealer, type Sealer } from './platform/crypto/seal.ts'
import { createTokenSigner, type TokenSigner } from './platform/crypto/token-signer.ts'
import { openPool } from './platform/db/pool.ts'
import type { Databases } from './platform/db/transaction.ts'
import type { CallBudget } from './platform/http/authenticate.ts'
import type { Limiters } from './platform/limits/limit.ts'

/** What the features share. Opened once by the process, handed to everything that needs it. */
export interface Deps {
  config: Config
  log: Logger
  /** ms since 1970; the only source of time. */
  clock: () => number
  db: Pick<Databases, 'api' | 'system'>
  passwords: PasswordHasher
  sealer: Sealer
  signer: TokenSigner
  access: AccessEngine
  /** Limits of RATE_LIMIT_ENABLED on what anybody can ask for. */
  limiters: Limiters<LimitName>
  /** The same on the calls of people and tenants. */
  budget: CallBudget
  /** Base of links and list URLs, without a trailing slash; known once the process listens. */
  publicUrl: () => string
}

/**
 * Opens what the API needs: pools, signing keys, the policies' engine. `settings` must name the databases and keys.
 * `close` ends it once nothing is in flight. Rejects where a dependency is away: nothing listens without all of them.
 */
export async function openDeps(settings: {
  config: Config
  log: Logger
  publicUrl: () => string
  clock?: () => number
}): Promise<Deps & { close(): Promise<void> }> {
  const { config, log, publicUrl, clock = Date.now } = settings
  const { DATABASE_API_URL: apiUrl, DATABASE_SYSTEM_URL: systemUrl, SECRET_KEYS: keys } = config
  if (!apiUrl || !systemUrl || !keys)
    throw new Error(
      'The API needs DATABASE_API_URL, DATABASE_SYSTEM_URL and SECRET_KEYS. Without them, use npm start.',
    )
  const options = {
    size: config.DATABASE_POOL_SIZE ?? availableParallelism() + 2,
    prepared: config.DATABASE_PREPARED_STATEMENTS,
    applicationName: 'bailiwick-api',
  }
  const [api, system, passwords, access] = await Promise.all([
    openPool(apiUrl, options),
    openPool(systemUrl, options),
    createPasswordHasher(),
    openAccessEngine(),
  ])
  const db = { api, system }
  const sealer = createSealer(keys)
  const ring = await watchKeyRing(() => loadKeyRing({ db, sealer, clock, config }), log)
  const limiters = openLimiters(config, db, log)
  const budget = openCallBudget(config, db, clock, log)
  const endSweeping = sweepGuards(db, clock, log)
  const close = async () => {
    ring.close()
    endSweeping()
    budget.close()
    limiters.close()
    await Promise.all([api.end(), system.end()])
  }
  const signer = createTokenSigner(ring.now, ring.lookAgain)
  return { config, log, clock, db, passwords, sealer, signer, access, limiters, budget, publicUrl, close }
}
