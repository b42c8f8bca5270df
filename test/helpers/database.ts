import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import pg from 'pg'
import type { Test } from 'tap'
import { migrate } from '../../src/platform/db/migrate.ts'
import { timeouts } from '../../src/platform/db/pool.ts'
import { superuserUrl } from './cluster.ts'

const sources = new URL('../../src/platform/db/', import.meta.url)
const password = 'only-for-tests'
const production = { ...timeouts }
const patient = { connect: 120_000, lock: 120_000, transaction: 120_000, statement: 120_000 }
Object.assign(timeouts, patient)

/** Waits for the database as long as production does, for the length of a test that is about that. */
export function useProductionTimeouts(t: Test): void {
  Object.assign(timeouts, production)
  t.teardown(() => void Object.assign(timeouts, patient))
}

const roles = ['owner', 'api', 'system', 'worker'] as const
const lockKey = 0x0bad2

/** One address of the same database per role; `superuser` is the cluster's. */
export type DatabaseUrls = Record<(typeof roles)[number] | 'superuser', string>

/**
 * An empty database of the newest schema for one test file, copied from a template made once per cluster and
 * schema; with `migrated: false` one without a schema, of a cluster that has the roles. Close what is connected to it,
 * then call `drop`, which also leaves the shared cluster.
 */
export async function disposableDatabase({
  migrated = true,
} = {}): Promise<{ urls: DatabaseUrls; drop(): Promise<void> }> {
  const { url, release } = await superuserUrl()
  const name = `bailiwick_test_${process.pid}_${randomBytes(6).toString('hex')}`
  const drop = async () => {
    await asSuperuser(url, (client) => client.query(`drop database if exists ${name} with (force)`)).finally(
      release,
    )
  }
  try {
    await exclusively(url, async (client) => {
      const template = await findOrMakeTemplate(client, url)
      // Copying the files takes an eighth of the time that copying the pages through the log does.
      await client.query(
        `create database ${name} template ${migrated ? template : 'template0'} strategy file_copy`,
      )
      await client.query(`grant create, temporary, connect on database ${name} to bailiwick_owner`)
    })
  } catch (error) {
    await drop().catch(() => undefined)
    throw error
  }
  return { urls: urlsOf(url, name), drop }
}

/** Built under another name and renamed when done: a run that was killed half way leaves no half template. */
async function findOrMakeTemplate(client: pg.Client, url: string): Promise<string> {
  const name = `bailiwick_template_${await schemaChecksum()}`
  const { rows } = await client.query(
    "select datname from pg_database where datname like 'bailiwick_template_%'",
  )
  if (rows.some((row) => row.datname === name)) return name
  for (const { datname } of rows) await client.query(`drop database ${datname} with (force)`)
  await client.query('drop database if exists bailiwick_half_template with (force)')
  await client.query('create database bailiwick_half_template')
  await migrate(urlsOf(url, 'bailiwick_half_template').superuser, urlsOf(url, 'bailiwick_half_template'))
  await assertPasswords(url) // before the owner, whose password is then the test's to set
  await client.query(`alter role bailiwick_owner login password '${password}'`)
  await client.query(`alter database bailiwick_half_template rename to ${name}`)
  return name
}

/** A cluster where someone else's run-time roles live is not ours to test on, nor to change. */
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

/** Of all that shapes an empty database: our migrations, what migrates, and the queue's own migrations. */
async function schemaChecksum(): Promise<string> {
  const names = (await readdir(new URL('migrations/', sources))).sort()
  const files = [
    ...names.map((name) => new URL(`migrations/${name}`, sources)),
    new URL('migrate.ts', sources),
    new URL('../jobs/queues.ts', sources), // each queue has a sequence
  ]
  const digest = createHash('sha256')
  for (const file of files) digest.update(`${file.pathname.split('/').at(-1)}\0`).update(await readFile(file))
  digest.update(createRequire(import.meta.url)('bullmq/package.json').version)
  return digest.digest('hex').slice(0, 16)
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

/** One test file at a time, in the cluster's maintenance database: advisory locks end at a database's border. */
function exclusively(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  return asSuperuser(url, async (client) => {
    await client.query('select pg_advisory_lock($1)', [lockKey])
    await work(client)
  })
}

async function asSuperuser<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'bailiwick-test-database' })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
