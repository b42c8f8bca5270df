import { join } from 'node:path'
import type { Logger } from 'pino'
import { z } from 'zod'
import { createSealer, type Sealer } from '../src/crypto/seal.ts'
import { openMeasuredPool } from '../src/database/executor/measure-pool.ts'
import { sendingOf } from '../src/database/executor/scope.ts'
import { asWorker, type Databases, sql } from '../src/database/executor/transaction.ts'
import { connectionName } from '../src/database/migrate/running-releases.ts'
import { assertKeysOpen } from '../src/database/reseal.ts'
import type { Deps } from '../src/deps.ts'
import { type MailTransport, openMailTransport } from '../src/messages/mail/transport.ts'
import { createMetrics, type Metrics } from '../src/observe/metrics/metrics.ts'
import { bundleName, policiesFolder, readBundle } from '../src/policy-engine/evaluate/bundle.ts'
import type { Config } from '../src/settings/config.ts'
import { version } from '../src/settings/version.ts'
import { lazyService, type Service, serviceOf } from './open-service.ts'

/** The dependencies of actors. `config.DATABASE_WORKER_URL` is set: queues and the relay's LISTEN connect with it. */
export interface WorkerDeps {
  config: Config
  log: Logger
  /** ms since 1970 */
  clock: () => number
  db: Pick<Databases, 'worker'>
  sealer: Sealer
  mail: MailTransport
  metrics: Metrics
  /** What carries out calls of the API. Opened at its first use. */
  service: () => Promise<Service>
  /** Whether an API in the same process says under which address it answers. */
  isBesideApi: boolean
}

/** Required settings of a worker are missing. The message is for operators. */
export class WorkerSettingsMissing extends Error {}

/** The database role bypasses row-level security. The message is for operators. */
export class UnboundRole extends Error {}

// Enough for the relay and the short transactions of the actors; more connections slow Postgres down.
const poolSize = 6

/**
 * Opens the shared dependencies of the actors of one process. Call `close` after the actors have stopped. Rejects when
 * settings are missing, Postgres is unavailable, the database role bypasses row-level security, or SECRET_KEYS opens
 * none of the sealed values. `serving`: what an API in the same process has opened.
 */
export async function openWorkerDeps(
  config: Config,
  log: Logger,
  clock: () => number = Date.now,
  metrics = createMetrics(version),
  serving?: () => Deps,
): Promise<WorkerDeps & { close(): Promise<void> }> {
  const { DATABASE_WORKER_URL: url, SECRET_KEYS: keys, SMTP_URL: smtpUrl, MAIL_FROM: from } = config
  if (!url || !keys)
    throw new WorkerSettingsMissing(
      'A worker process needs DATABASE_WORKER_URL and SECRET_KEYS. For development, `npm start` runs the workers without them.',
    )
  metrics.policyRevision(readBundle(join(policiesFolder, bundleName)).revision)
  const options = {
    size: config.DATABASE_POOL_SIZE ?? poolSize,
    ...sendingOf(config),
    applicationName: connectionName('worker'),
  }
  const worker = openMeasuredPool(url, options, { name: 'worker', metrics })
  const sealer = createSealer(keys)
  try {
    await assertRoleIsBound({ worker })
    await assertKeysOpen({ worker }, sealer)
  } catch (error) {
    await worker.end()
    throw error
  }
  const requireTls = config.SMTP_REQUIRE_TLS
  const mail = openMailTransport({ smtpUrl, requireTls, from, capture: worker }, metrics)
  const own = lazyService(config, log, clock)
  let shared: Promise<Service> | undefined
  const service = serving
    ? async () => {
        shared ??= serviceOf(serving()).catch((error) => {
          shared = undefined
          throw error
        })
        return shared
      }
    : own.service
  const close = async () => {
    await own.close()
    await mail.close()
    await worker.end()
  }
  const isBesideApi = serving !== undefined
  return { config, log, clock, db: { worker }, sealer, mail, metrics, service, isBesideApi, close }
}

const role = z.object({ name: z.string(), unbound: z.boolean() })

async function assertRoleIsBound(db: WorkerDeps['db']): Promise<void> {
  const { name, unbound } = await asWorker(db, (tx) =>
    tx.one(sql.type(role)`
      select rolname as name, rolsuper or rolbypassrls as unbound from pg_roles where rolname = current_user`),
  )
  if (unbound) throw new UnboundRole(`The role ${name} bypasses row-level security. Use bailiwick_worker.`)
}
