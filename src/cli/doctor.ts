import { assertSchemaCompatibility, LATEST_SCHEMA_VERSION } from 'bullmq'
import pg from 'pg'
import { type Config, roleUrls } from '../config.ts'
import { inspectIsolation } from '../platform/db/isolation.ts'
import { missingMigrations, type RoleUrls } from '../platform/db/migrate.ts'
import { openAccessEngine } from '../policy-engine/evaluate/engine.ts'

/** What one look found: a sentence, and where it is not well, what to do. */
export interface Finding {
  check: string
  ok: boolean
  says: string
  advice?: string
}

/**
 * Looks at the policies, the database behind the run-time addresses, its isolation of tenants and its queues. Changes
 * nothing. `ok` where every finding is.
 */
export async function examine(config: Config): Promise<{ ok: boolean; findings: Finding[] }> {
  const findings = [await lookAtPolicies(), ...(await lookAtDatabase(config))]
  return { ok: findings.every((finding) => finding.ok), findings }
}

/** A finding for people: a tick or a cross, and below a cross what to do. */
export const lineOf = ({ ok, says, advice }: Finding): string =>
  ok ? `✓ ${says}` : `✗ ${says}${advice ? `\n  → ${advice}` : ''}`

/** Runs one look; what it throws is the finding. */
async function look(check: string, advice: string, work: () => Promise<string>): Promise<Finding> {
  try {
    return { check, ok: true, says: await work() }
  } catch (error) {
    return { check, ok: false, says: messageOf(error).replace(/\s*\n[\s-]*/g, ' '), advice }
  }
}

/** Where several addresses of a name were tried, the message of the whole is empty. */
const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0])
  return (error instanceof Error && error.message) || String(error)
}

const lookAtPolicies = () =>
  look('policies', 'npm run policies', async () => {
    const { revision } = await openAccessEngine()
    return `The policy bundle ${revision.slice(0, 12)} answers every golden case as it should`
  })

async function lookAtDatabase(config: Config): Promise<Finding[]> {
  const reached = await reachDatabase(config)
  if (!reached.urls) return [reached.finding]
  const { urls } = reached
  const migrations = await lookAtMigrations(urls)
  const server = [await lookAtVersion(urls), await lookAtClock(urls), migrations]
  // Without its tables the rest would only say so again.
  if (!migrations.ok) return [reached.finding, ...server]
  return [reached.finding, ...server, await lookAtQueues(config, urls), ...(await lookAtIsolation(urls))]
}

async function reachDatabase(config: Config): Promise<{ finding: Finding; urls?: RoleUrls }> {
  const advice = 'Check DATABASE_API_URL, DATABASE_SYSTEM_URL, DATABASE_WORKER_URL; is Postgres running?'
  let urls: RoleUrls | undefined
  const finding = await look('database', advice, async () => {
    const given = roleUrls(config)
    for (const url of Object.values(given)) await asRole(url, (client) => client.query('select 1'))
    urls = given
    const { host, pathname } = new URL(given.api)
    return `The three run-time roles reach ${host}${pathname}`
  })
  return urls ? { finding, urls } : { finding }
}

const leastVersion = 15

const lookAtVersion = (urls: RoleUrls) =>
  look('version', `Upgrade to Postgres ${leastVersion} or later`, async () => {
    const version = await asRole(urls.api, async (client) => {
      const { rows } = await client.query("select current_setting('server_version') as version")
      return rows[0].version as string
    })
    if (Number.parseInt(version, 10) < leastVersion) throw new Error(`Postgres ${version} is too old`)
    return `Postgres ${version}`
  })

const maxClockDifferenceMs = 2_000

const lookAtClock = (urls: RoleUrls) =>
  look('clock', 'Let both machines follow a time server', async () => {
    const difference = await asRole(urls.api, async (client) => {
      const before = Date.now()
      const { rows } = await client.query('select extract(epoch from clock_timestamp()) * 1000 as at')
      return Math.round(Number(rows[0].at) - (before + Date.now()) / 2)
    })
    if (Math.abs(difference) >= maxClockDifferenceMs)
      throw new Error(`The clock of the database is ${difference} ms off ours`)
    return `The clocks of service and database differ by ${Math.abs(difference)} ms`
  })

const lookAtMigrations = (urls: RoleUrls) =>
  look('migrations', 'npm run cli -- migrate', async () => {
    const missing = await missingMigrations(urls.api)
    if (missing.length > 0) throw new Error(`The database lacks ${missing.join(', ')}`)
    return 'Every migration is applied'
  })

const lookAtQueues = ({ REDIS_URL }: Config, urls: RoleUrls) =>
  look('queues', 'npm run cli -- migrate', async () => {
    if (REDIS_URL) return 'The queues are on Redis, and their tables in Postgres are not used'
    const version = await asRole(urls.worker, async (client) => {
      await assertSchemaCompatibility(client as never, 'bullmq')
      const { rows } = await client.query('select max(version) as version from bullmq.migration')
      return rows[0].version as number
    })
    if (version < LATEST_SCHEMA_VERSION)
      throw new Error(`The tables of the queues have version ${version}, not ${LATEST_SCHEMA_VERSION}`)
    return `The tables of the queues have version ${version}`
  })

async function lookAtIsolation(urls: RoleUrls): Promise<Finding[]> {
  const advice =
    'Undo what was changed by hand; what a migration changed on purpose is frozen in src/platform/db/isolation-policies.ts'
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
  client.on('error', () => undefined) // lost on the way: the query at hand tells
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end()
  }
}
