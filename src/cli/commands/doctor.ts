import { assertSchemaCompatibility, LATEST_SCHEMA_VERSION } from 'bullmq'
import pg from 'pg'
import { type Config, roleUrls } from '../../config.ts'
import { inspectIsolation } from '../../platform/db/isolation.ts'
import { missingMigrations, type RoleUrls } from '../../platform/db/migrate.ts'
import { openAccessEngine } from '../../policy-engine/evaluate/engine.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../with-database.ts'

const roles = ['api', 'system', 'worker'] as const

export const doctor = defineCommand({
  name: 'doctor',
  about: 'Check database, isolation of tenants, migrations, queues, clock and policies',
  options: {},
  example: '',
  failure: 'there is a fault: each line with a cross says what to do',
  roles,
  run: ({ config }) =>
    withDatabase(config, roles, async (complete) => {
      const { ok, findings } = await examine(complete)
      return { exit: ok ? 0 : 1, data: { ok, findings }, text: findings.map(lineOf).join('\n') }
    }),
})

/** The result of one check: a sentence, and for a fault what to do. */
export interface Finding {
  check: string
  ok: boolean
  says: string
  advice?: string
}

/**
 * Checks the policies, the database behind the run-time addresses, its isolation of tenants and its queues. Changes
 * nothing. `ok` if every finding is.
 */
export async function examine(config: Config): Promise<{ ok: boolean; findings: Finding[] }> {
  const findings = [await checkPolicies(), ...(await checkDatabase(config))]
  return { ok: findings.every((finding) => finding.ok), findings }
}

/** A finding as text: a tick or a cross, and below a cross what to do. */
export const lineOf = ({ ok, says, advice }: Finding): string =>
  ok ? `✓ ${says}` : `✗ ${says}${advice ? `\n  → ${advice}` : ''}`

/** Runs one check; an error that it throws becomes the finding. */
async function check(name: string, advice: string, work: () => Promise<string>): Promise<Finding> {
  try {
    return { check: name, ok: true, says: await work() }
  } catch (error) {
    return { check: name, ok: false, says: messageOf(error).replace(/\s*\n[\s-]*/g, ' '), advice }
  }
}

/** When a host name has several addresses, node throws an AggregateError with an empty message. */
const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0])
  return (error instanceof Error && error.message) || String(error)
}

const checkPolicies = () =>
  check('policies', 'npm run policies', async () => {
    const { revision } = await openAccessEngine()
    return `The policy bundle ${revision.slice(0, 12)} passes every golden case`
  })

async function checkDatabase(config: Config): Promise<Finding[]> {
  const reached = await reachDatabase(config)
  if (!reached.urls) return [reached.finding]
  const { urls } = reached
  const migrations = await checkMigrations(urls)
  const server = [await checkVersion(urls), await checkClock(urls), migrations]
  // Without the tables the other checks fail for the same reason.
  if (!migrations.ok) return [reached.finding, ...server]
  return [reached.finding, ...server, await checkQueues(config, urls), ...(await checkIsolation(urls))]
}

async function reachDatabase(config: Config): Promise<{ finding: Finding; urls?: RoleUrls }> {
  const advice = 'Check DATABASE_API_URL, DATABASE_SYSTEM_URL and DATABASE_WORKER_URL, and that Postgres runs'
  let urls: RoleUrls | undefined
  const finding = await check('database', advice, async () => {
    const given = roleUrls(config)
    for (const url of Object.values(given)) await asRole(url, (client) => client.query('select 1'))
    urls = given
    const { host, pathname } = new URL(given.api)
    return `The three run-time roles reach ${host}${pathname}`
  })
  return urls ? { finding, urls } : { finding }
}

const minVersion = 15

const checkVersion = (urls: RoleUrls) =>
  check('version', `Upgrade to Postgres ${minVersion} or later`, async () => {
    const version = await asRole(urls.api, async (client) => {
      const { rows } = await client.query("select current_setting('server_version') as version")
      return rows[0].version as string
    })
    if (Number.parseInt(version, 10) < minVersion) throw new Error(`Postgres ${version} is too old`)
    return `Postgres ${version}`
  })

const maxClockDifferenceMs = 2_000

const checkClock = (urls: RoleUrls) =>
  check('clock', 'Synchronise both machines with a time server', async () => {
    const difference = await asRole(urls.api, async (client) => {
      const before = Date.now()
      const { rows } = await client.query('select extract(epoch from clock_timestamp()) * 1000 as at')
      return Math.round(Number(rows[0].at) - (before + Date.now()) / 2)
    })
    if (Math.abs(difference) >= maxClockDifferenceMs)
      throw new Error(`The clocks of this machine and the database differ by ${difference} ms`)
    return `The clocks of this machine and the database differ by ${Math.abs(difference)} ms`
  })

const checkMigrations = (urls: RoleUrls) =>
  check('migrations', 'npm run cli -- migrate', async () => {
    const missing = await missingMigrations(urls.api)
    if (missing.length > 0) throw new Error(`The database lacks ${missing.join(', ')}`)
    return 'Every migration is applied'
  })

const checkQueues = ({ REDIS_URL }: Config, urls: RoleUrls) =>
  check('queues', 'npm run cli -- migrate', async () => {
    if (REDIS_URL) return 'The queues are on Redis; their tables in Postgres are not used'
    const version = await asRole(urls.worker, async (client) => {
      await assertSchemaCompatibility(client as never, 'bullmq')
      const { rows } = await client.query('select max(version) as version from bullmq.migration')
      return rows[0].version as number
    })
    if (version < LATEST_SCHEMA_VERSION)
      throw new Error(`The queue tables have version ${version}, not ${LATEST_SCHEMA_VERSION}`)
    return `The queue tables have version ${version}`
  })

async function checkIsolation(urls: RoleUrls): Promise<Finding[]> {
  const advice =
    'Undo changes that were made by hand. A deliberate change by a migration belongs in src/platform/db/isolation-policies.ts'
  const inspections = await inspectIsolation(urls)
  return inspections.flatMap(({ check, holds, faults }): Finding[] =>
    faults.length === 0
      ? [{ check, ok: true, says: holds }]
      : faults.map(({ object, detail }) => ({ check, ok: false, says: `${object}: ${detail}`, advice })),
  )
}

async function asRole<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'bailiwick-doctor',
    connectionTimeoutMillis: 5_000,
  })
  client.on('error', () => undefined) // a lost connection also fails the query
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end()
  }
}
