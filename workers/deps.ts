import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../src/config.ts'
import { createSealer, type Sealer } from '../src/platform/crypto/seal.ts'
import { openMeasuredPool } from '../src/platform/db/measure-pool.ts'
import { assertKeysOpen } from '../src/platform/db/reseal.ts'
import type { Databases } from '../src/platform/db/transaction.ts'
import { type MailTransport, openMailTransport } from '../src/platform/mail/transport.ts'
import { createMetrics, type Metrics } from '../src/platform/metrics/metrics.ts'
import { bundleName, policiesFolder, readBundle } from '../src/policy-engine/evaluate/bundle.ts'
import { version } from '../src/version.ts'
import { refuseSuperuser } from './refuse-superuser.ts'

/** What actors are handed. `config.DATABASE_WORKER_URL` is set: queues and the relay's LISTEN connect by it. */
export interface WorkerDeps {
  config: Config
  log: Logger
  /** ms since 1970 */
  clock: () => number
  db: Pick<Databases, 'worker'>
  sealer: Sealer
  mail: MailTransport
  metrics: Metrics
}

/** Settings that a worker cannot do without are missing; the message is made for an operator. */
export class WorkerSettingsMissing extends Error {}

// Enough for the relay and the actors' short transactions; more connections make Postgres slower, not faster.
const poolSize = 6

/**
 * Opens what the actors of one process share; `close` ends it, after the actors have stopped. Rejects where
 * settings are missing, Postgres is away, or the role could see past row-level security.
 */
export async function openWorkerDeps(
  config: Config,
  log: Logger,
  clock: () => number = Date.now,
  metrics = createMetrics(version),
): Promise<WorkerDeps & { close(): Promise<void> }> {
  const { DATABASE_WORKER_URL: url, SECRET_KEYS: keys, SMTP_URL: smtpUrl, MAIL_FROM: from } = config
  if (!url || !keys)
    throw new WorkerSettingsMissing(
      'A worker of its own needs DATABASE_WORKER_URL and SECRET_KEYS. Without them, `npm start` runs the workers, too.',
    )
  const options = {
    size: config.DATABASE_POOL_SIZE ?? poolSize,
    prepared: config.DATABASE_PREPARED_STATEMENTS,
    applicationName: 'bailiwick-worker',
  }
  const worker = await openMeasuredPool(url, options, { name: 'worker', metrics })
  try {
    await refuseSuperuser(worker)
  } catch (error) {
    await worker.end()
    throw error
  }
  const requireTls = config.SMTP_REQUIRE_TLS
  const sealer = createSealer(keys)
  await assertKeysOpen({ worker }, sealer).catch(async (error) => {
    await worker.end()
    throw error
  })
  metrics.policyRevision(readBundle(join(policiesFolder, bundleName)).revision)
  const mail = openMailTransport({ smtpUrl, requireTls, from, capture: worker }, metrics)
  const close = async () => {
    await mail.close()
    await worker.end()
  }
  return { config, log, clock, db: { worker }, sealer, mail, metrics, close }
}
