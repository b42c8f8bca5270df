import type pg from 'pg'
import { createSealer } from '../../crypto/seal.ts'
import { describe } from '../../database/cluster/distribute.ts'
import {
  findCluster,
  listPlaces,
  listUnreachable,
  misplaced,
  stateOf,
} from '../../database/cluster/distribution.ts'
import { openPool } from '../../database/executor/pool.ts'
import { withConnection } from '../../database/executor/with-connection.ts'
import { inspectIsolation } from '../../database/isolation/isolation.ts'
import { missingMigrations, type RoleUrls } from '../../database/migrate/migrate.ts'
import { assertKeysOpen } from '../../database/reseal.ts'
import { isConsoleBuilt } from '../../pages/console/pages.ts'
import { type Config, roleUrls } from '../../settings/config.ts'
import { openEngine } from '../../start/open-engine.ts'
import { chooseTenants, findDrifts, repairOf } from '../check-counts.ts'
import { compareMemberships, repairOf as repairOfMemberships } from '../check-memberships.ts'
import { checkServices } from '../check-services.ts'
import { defineCommand } from '../command.ts'
import { check, type Finding, lineOf } from '../finding.ts'
import { withDatabase } from '../with-database.ts'

const roles = ['api', 'system', 'worker'] as const

export const doctor = defineCommand({
  name: 'doctor',
  about:
    'Check settings, keys, database, isolation of tenants, counters of rows, memberships, migrations, queues, Redis, mail server, clock, policies and the pages of the console',
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

/**
 * Checks the policies, the settings, the services around this one and the isolation of tenants. Changes nothing.
 * `ok` if every finding is.
 */
export async function examine(config: Config): Promise<{ ok: boolean; findings: Finding[] }> {
  const findings = [
    await checkPolicies(config),
    await checkConsole(config),
    ...(await checkDatabase(config)),
    ...(await checkServices(config)),
  ]
  return { ok: findings.every((finding) => finding.ok), findings }
}

const checkPolicies = (config: Config) =>
  check('policies', 'npm run policies', async () => {
    const { revision } = await openEngine(config)
    return `The policy bundle ${revision.slice(0, 12)} passes every golden case`
  })

const checkConsole = ({ CONSOLE_ENABLED }: Config) =>
  check('console', 'npm run build', async () => {
    if (!CONSOLE_ENABLED) return 'The console is off (CONSOLE_ENABLED)'
    if (!isConsoleBuilt()) throw new Error('The pages of the console are not built')
    return 'The pages of the console are built'
  })

async function checkDatabase(config: Config): Promise<Finding[]> {
  const reached = await reachDatabase(config)
  if (!reached.urls) return [reached.finding]
  const { urls } = reached
  const migrations = await checkMigrations(urls)
  const server = [await checkVersion(urls), await checkClock(urls), migrations]
  if (migrations.ok) server.push(await checkDistribution(config, urls))
  // Without the tables the other checks fail for the same reason.
  if (!migrations.ok) return [reached.finding, ...server]
  const queues = [await checkKeys(config, urls), await checkQueues(config, urls)]
  const tenants = [await checkManifests(urls), await checkCounts(urls), await checkMemberships(urls)]
  return [reached.finding, ...server, ...queues, ...tenants, ...(await checkIsolation(urls))]
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
    return 'The clocks of this machine and the database agree'
  })

const checkMigrations = (urls: RoleUrls) =>
  check('migrations', 'npm run cli -- migrate', async () => {
    const missing = await missingMigrations(urls.api)
    if (missing.length > 0) throw new Error(`The database lacks ${missing.join(', ')}`)
    return 'Every migration is applied'
  })

const checkDistribution = ({ DATABASE_DISTRIBUTED }: Config, urls: RoleUrls) =>
  check(
    'distribution',
    'npm run cli -- distribute --check, and docs/how-to/scale.md#a-distributed-postgres',
    () =>
      asRole(urls.api, async (client) => {
        const cluster = await findCluster(client)
        const places = await listPlaces(client)
        const state = stateOf(places)
        if (state === 'half distributed')
          throw new Error(`Not all tables are in their place: ${describe(misplaced(places))}`)
        if (DATABASE_DISTRIBUTED !== (state === 'distributed'))
          throw new Error(
            `DATABASE_DISTRIBUTED is ${DATABASE_DISTRIBUTED}, and the tables of tenants are ${state}`,
          )
        if (!cluster) return 'The database is one Postgres'
        if (state === 'undistributed')
          return `Citus ${cluster.version} is installed, and no table is distributed`
        if (!cluster.passesScope)
          throw new Error("citus.propagate_set_commands is not 'local', so the nodes do not learn the tenant")
        const [away] = await listUnreachable(client)
        if (away) throw new Error(`The node ${away.node} cannot be reached: ${away.says}`)
        return `The tables of tenants are spread over ${cluster.nodes.length} nodes, and all of them answer`
      }),
  )

const checkKeys = ({ SECRET_KEYS }: Config, urls: RoleUrls) =>
  check('keys', 'Set SECRET_KEYS to the keys that the API of this installation uses', async () => {
    if (!SECRET_KEYS) return 'SECRET_KEYS is not set here, so it was not checked'
    const options = { size: 1, prepared: false, applicationName: 'bailiwick-doctor' }
    const [system, worker] = await Promise.all([
      openPool(urls.system, options),
      openPool(urls.worker, options),
    ])
    try {
      for (const db of [{ system }, { worker }])
        await assertKeysOpen(db, createSealer(SECRET_KEYS), { each: true })
    } finally {
      await Promise.all([system.end(), worker.end()])
    }
    return 'SECRET_KEYS opens what is sealed in the database'
  })

const checkQueues = ({ REDIS_URL }: Config, urls: RoleUrls) =>
  check('queues', 'npm run cli -- migrate', async () => {
    if (REDIS_URL) return 'The queues are on Redis; their tables in Postgres are not used'
    const { assertSchemaCompatibility, LATEST_SCHEMA_VERSION } = await import('bullmq') // slow to load
    const version = await asRole(urls.worker, async (client) => {
      await assertSchemaCompatibility(client as never, 'bullmq')
      const { rows } = await client.query('select max(version) as version from bullmq.migration')
      return rows[0].version as number
    })
    if (version < LATEST_SCHEMA_VERSION)
      throw new Error(`The queue tables have version ${version}, not ${LATEST_SCHEMA_VERSION}`)
    return `The queue tables have version ${version}`
  })

const checkManifests = (urls: RoleUrls) =>
  check('manifests', 'npm run cli -- manifest:apply', async () => {
    const behind = await asRole(urls.system, async (client) => {
      const { rows } = await client.query(
        `select count(*)::int as behind from tenants
         where deleted_at is null and manifest_revision < (select coalesce(max(revision), 0) from manifests)`,
      )
      return rows[0].behind as number
    })
    if (behind > 0) throw new Error(`${behind} tenants do not have the rules of the newest manifests`)
    return 'Every tenant has the rules of the newest manifests'
  })

/** Nobody logs in as the owner: a superuser, or the role of DATABASE_URL, becomes it. */
const asOwner = (repair: string) =>
  `Run with the address of DATABASE_URL, also while the service runs: set role bailiwick_owner; ${repair}`

async function checkCounts(urls: RoleUrls): Promise<Finding> {
  let advice = 'Correct what it says, and run doctor again'
  const finding = await check('counts', '', async () => {
    const tenants = await asRole(urls.system, chooseTenants)
    const { compared, drifts } = await asRole(urls.api, (client) => findDrifts(client, tenants))
    const [first] = drifts
    if (!first) return `The counters of ${compared} tenants agree with their rows`
    advice = asOwner(repairOf(drifts))
    throw new Error(
      `${drifts.length} counters of ${compared} tenants are wrong, the first of tenant ${first.tenant_id}: row_counts has ${first.counted} ${first.relation}, and there are ${first.real}`,
    )
  })
  return finding.ok ? finding : { ...finding, advice }
}

async function checkMemberships(urls: RoleUrls): Promise<Finding> {
  let advice = 'Correct what it says, and run doctor again'
  const finding = await check('memberships', '', async () => {
    const { compared, extra, differences } = await asRole(urls.system, compareMemberships)
    const [first] = differences
    const note = extra > 0 ? `; it also names ${extra} people who are none, which is harmless` : ''
    if (!first) return `person_memberships knows the members of ${compared} tenants${note}`
    advice = asOwner(repairOfMemberships(differences))
    throw new Error(
      `person_memberships lacks members of ${differences.length} of ${compared} tenants, ${first.missing} of the first, ${first.tenant_id}${note}`,
    )
  })
  return finding.ok ? finding : { ...finding, advice }
}

async function checkIsolation(urls: RoleUrls): Promise<Finding[]> {
  const advice =
    'Undo changes that were made by hand. A deliberate change by a migration belongs in src/database/isolation/isolation-policies.ts'
  const inspections = await inspectIsolation(urls)
  return inspections.flatMap(({ check, holds, faults }): Finding[] =>
    faults.length === 0
      ? [{ check, ok: true, says: holds }]
      : faults.map(({ object, detail }) => ({ check, ok: false, says: `${object}: ${detail}`, advice })),
  )
}

const asRole = <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> =>
  withConnection(url, 'bailiwick-doctor', work)
