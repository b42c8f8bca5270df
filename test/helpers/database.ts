import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import pg from 'pg'
import type { Test } from 'tap'
import { timeouts } from '../../src/database/executor/pool.ts'
import { listMigrations } from '../../src/database/migrate/ledger.ts'
import { migrate } from '../../src/database/migrate/migrate.ts'
import { closing, distributeDatabase, onEveryNode, workerNodes } from './citus.ts'
import { superuserUrl } from './cluster.ts'
import { query, withKeptClient } from './query.ts'

const sources = new URL('../../src/database/', import.meta.url)
const password = 'only-for-tests'
/** The password of the run-time roles in test databases. */
export const passwordOfRoles = password
const production = { ...timeouts }
const patient = { connect: 120_000, lock: 120_000, transaction: 120_000, statement: 120_000 }
Object.assign(timeouts, patient)

/** Sets the database timeouts of production for the duration of a test about them. */
export function useProductionTimeouts(t: Test): void {
  Object.assign(timeouts, production)
  t.teardown(() => void Object.assign(timeouts, patient))
}

const roles = ['owner', 'api', 'system', 'worker'] as const
const lockKey = 0x0bad2

/** The address of one database for each role; `superuser` is the cluster's. */
export type DatabaseUrls = Record<(typeof roles)[number] | 'superuser', string>

/**
 * An empty database with the newest schema for one test file, copied from a template that is made once per cluster and
 * schema. With `migrated: false` it has no schema, but its cluster has the roles. Close all connections to it, then
 * call `drop`, which also releases the shared cluster.
 */
export async function disposableDatabase({
  migrated = true,
} = {}): Promise<{ urls: DatabaseUrls; drop(): Promise<void> }> {
  const { url, release } = await superuserUrl()
  const name = `bailiwick_test_${process.pid}_${randomBytes(6).toString('hex')}`
  // Over a new connection: those that a test has just ended are gone by then, and Postgres need not end them.
  const drop = async () => {
    const dropped = onEveryNode(url, ...closing(name), `drop database if exists ${name} with (force)`)
    await dropped.finally(release)
  }
  try {
    await exclusively(url, async (client) => {
      const template = await findOrMakeTemplate(client, url)
      // Copying the files takes an eighth of the time of copying the pages through the WAL.
      const source = migrated ? template : 'template0'
      const create = `create database ${name} template ${source} strategy file_copy`
      await client.query(create)
      await Promise.all(workerNodes.map((node) => query(node, create)))
      await client.query(`grant create, temporary, connect on database ${name} to bailiwick_owner`)
    })
  } catch (error) {
    await drop().catch(() => undefined)
    throw error
  }
  return { urls: pooled(urlsOf(url, name)), drop }
}

/**
 * Builds the template under another name and renames it at the end, so that a killed run leaves no incomplete template.
 */
async function findOrMakeTemplate(client: pg.ClientBase, url: string): Promise<string> {
  checksum ??= schemaChecksum()
  const name = `bailiwick_template_${await checksum}`
  const { rows } = await client.query(
    "select datname from pg_database where datname like 'bailiwick_template_%'",
  )
  if (rows.some((row) => row.datname === name)) return name
  for (const { datname } of rows) await onEveryNode(url, `drop database if exists ${datname} with (force)`)
  await onEveryNode(url, 'drop database if exists bailiwick_half_template with (force)')
  await onEveryNode(url, 'create database bailiwick_half_template')
  await migrate(urlsOf(url, 'bailiwick_half_template').superuser, urlsOf(url, 'bailiwick_half_template'))
  await assertPasswords(url) // before the owner's password is set here
  await client.query(`alter role bailiwick_owner login password '${password}'`)
  if (workerNodes.length > 0) await distributeDatabase(url, 'bailiwick_half_template')
  await onEveryNode(url, `alter database bailiwick_half_template rename to ${name}`)
  return name
}

/** Refuses a cluster whose run-time roles have other passwords: it belongs to another installation. */
async function assertPasswords(url: string): Promise<void> {
  const urls = urlsOf(url, 'bailiwick_half_template')
  for (const role of roles.filter((role) => role !== 'owner')) {
    const client = new pg.Client({ connectionString: urls[role] })
    await client.connect().catch((cause) => {
      throw new Error(`bailiwick_${role} exists here with another password: tests need their own cluster`, {
        cause,
      })
    })
    await client.end()
  }
}

/** Of this process, which read the code that it runs when it started. */
let checksum: Promise<string> | undefined

/**
 * A digest of all that determines an empty database: our migrations, the code that runs them, and the queue's
 * migrations.
 */
async function schemaChecksum(): Promise<string> {
  const files = [
    'migrate/migrate.ts',
    '../messages/queues/queues.ts', // each queue has a sequence
  ]
  const digest = createHash('sha256')
  for (const { name, checksum } of await listMigrations()) digest.update(`${name}\0${checksum}`)
  for (const file of files) digest.update(`${file}\0`).update(await readFile(new URL(file, sources)))
  digest.update(createRequire(import.meta.url)('bullmq/package.json').version)
  return digest.digest('hex').slice(0, 16)
}

/** DATABASE_PREPARED_STATEMENTS of a service on a test database: a pooler in transaction mode cannot keep them. */
export const preparedStatements = String(!process.env.TEST_POOLER)

/** DATABASE_DISTRIBUTED of a service on a test database: TEST_CITUS_WORKERS are the nodes beside a coordinator. */
export const distributed = String(workerNodes.length > 0)

/** With TEST_POOLER (host:port) the API connects through a pooler. Workers and migrations still connect directly. */
function pooled(urls: DatabaseUrls): DatabaseUrls {
  const host = process.env.TEST_POOLER
  const through = (url: string) => (host ? Object.assign(new URL(url), { host }).href : url)
  return { ...urls, api: through(urls.api), system: through(urls.system) }
}

/** The address over a Unix socket, if the cluster of `npm test` has one: a statement takes a tenth less CPU than over TCP. */
export function overSocket(url: string): string {
  const { TEST_DATABASE_SOCKETS: folder, TEST_POOLER: pooler } = process.env
  return folder && !pooler ? url.replace(/@[^:/]+/, `@${encodeURIComponent(folder)}`) : url
}

function urlsOf(superuser: string, database: string): DatabaseUrls {
  const at = (role?: string) => {
    const url = new URL(superuser)
    url.pathname = `/${database}`
    if (role) Object.assign(url, { username: `bailiwick_${role}`, password })
    return url.href
  }
  return {
    owner: at('owner'),
    api: at('api'),
    system: at('system'),
    worker: at('worker'),
    superuser: at(),
  }
}

/**
 * Runs one test file at a time. The lock is in the cluster's maintenance database, because advisory locks are per
 * database.
 */
function exclusively(url: string, work: (client: pg.ClientBase) => Promise<void>): Promise<void> {
  return withKeptClient(url, async (client) => {
    await client.query('select pg_advisory_lock($1)', [lockKey])
    await work(client)
    await client.query('select pg_advisory_unlock($1)', [lockKey])
  })
}
