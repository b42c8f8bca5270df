import type pg from 'pg'
import { isDistributed } from '../cluster/distribution.ts'
import { sqlState } from '../executor/database-errors.ts'
import { openConnection } from '../executor/with-connection.ts'
import { BeforeBaseline } from '../migrate/ledger.ts'
import { findMissingMigrations, type RoleUrls, rolesOf } from '../migrate/migrate.ts'
import { inspectConnection, newerSchemaNote } from './isolation.ts'

/** The service cannot run on this database. The message says why, and what an operator has to do. */
export class UnsoundDatabase extends Error {}

const applicationName = 'bailiwick-isolation'

/**
 * Throws {@link UnsoundDatabase} when a Postgres does not answer or refuses the login. The message names the setting,
 * host and port, never the password.
 */
export const assertAnswers = (addresses: Record<string, string | undefined>): Promise<void> =>
  withConnections(addresses, async () => undefined)

/** Runs `work` on a connection to each address that is given, in their order. Throws as {@link assertAnswers}. */
async function withConnections<T>(
  addresses: Record<string, string | undefined>,
  work: (clients: pg.Client[]) => Promise<T>,
): Promise<T> {
  const opening = Object.entries(addresses).flatMap(([setting, url]) =>
    url === undefined ? [] : [open(setting, url)],
  )
  const opened = await Promise.allSettled(opening)
  const clients = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  try {
    for (const each of opened) if (each.status === 'rejected') throw each.reason
    return await work(clients)
  } finally {
    await Promise.all(clients.map((client) => client.end()))
  }
}

const open = (setting: string, url: string) =>
  openConnection(url, applicationName).catch((error) => {
    const hint = /^28/.test(sqlState(error)) && setting !== 'DATABASE_URL' ? `. ${rolesMissing}` : ''
    throw new UnsoundDatabase(`${setting}: ${refusalOf(error, url)}${hint}`)
  })

/** Postgres answers the same to a role that does not exist and to a wrong password. */
const rolesMissing =
  'If this database is new, its roles and migrations are missing. Run: npm run cli -- migrate'

/** A refusal by Postgres has a SQLSTATE of five characters. Any other error means that no Postgres answered. */
function refusalOf(error: unknown, url: string): string {
  const { hostname, port } = new URL(url)
  const server = `${hostname || 'localhost'}:${port || 5432}`
  const code = sqlState(error)
  if (/^28/.test(code)) return `Postgres at ${server} refuses this login or its password (${code})`
  if (/^(?=.*\d)[0-9A-Z]{5}$/.test(code)) return `Postgres at ${server} refuses the connection (${code})`
  if (/CERT|SIGNATURE/.test(codeOf(error)))
    return `the certificate of Postgres at ${server} is not trusted (${codeOf(error)}): name its certificate authority with sslrootcert`
  if (error instanceof Error && /not support SSL/.test(error.message))
    return `Postgres at ${server} does not support TLS, which sslmode requires`
  return `no Postgres answers at ${server}`
}

const codeOf = (error: unknown) => String((error as { code?: unknown }).code ?? '')

/**
 * Throws unless every migration is applied and the catalogue proves that tenants are isolated; the service does not
 * start without this proof, nor with a wrong DATABASE_DISTRIBUTED. `urls` are the addresses that the process has, at least one.
 * Gives a line for the log when a newer release migrated the database and its tables were not checked.
 */
export async function assertDatabaseIsSound(
  urls: Partial<RoleUrls>,
  { DATABASE_DISTRIBUTED }: { DATABASE_DISTRIBUTED: boolean },
): Promise<string | undefined> {
  const given = rolesOf(urls)
  const addresses = given.map(([role, url]) => [`DATABASE_${role.toUpperCase()}_URL`, url])
  const perConnection = await withConnections(Object.fromEntries(addresses), async (clients) => {
    await assertMigrated(clients[0]!)
    await assertDistribution(clients[0]!, DATABASE_DISTRIBUTED)
    return Promise.all(clients.map((client, n) => inspectConnection(client, given[n]![0], n === 0)))
  })
  const inspections = perConnection.flat()
  const faults = inspections.flatMap((inspection) => inspection.faults)
  if (faults.length > 0)
    throw new UnsoundDatabase(
      [
        'Tenants are not isolated in this database:',
        ...faults.map((f) => `  - ${f.object}: ${f.detail} (${f.check})`),
      ].join('\n'),
    )
  return newerSchemaNote(inspections)
}

async function assertMigrated(client: pg.ClientBase): Promise<void> {
  const missing = await findMissingMigrations(client).catch((error) => {
    throw error instanceof BeforeBaseline ? new UnsoundDatabase(error.message) : error
  })
  if (missing.length > 0)
    throw new UnsoundDatabase(`The database lacks ${missing.join(', ')}. Run: npm run cli -- migrate`)
}

/** Statements for one Postgres see no rows of tenants on a distributed one, and its statements ask for settings that only Citus has. */
async function assertDistribution(client: pg.ClientBase, expected: boolean): Promise<void> {
  const actual = await isDistributed(client)
  if (actual && !expected)
    throw new UnsoundDatabase('The database is distributed. Set DATABASE_DISTRIBUTED=true for all processes')
  if (!actual && expected)
    throw new UnsoundDatabase(
      'DATABASE_DISTRIBUTED is true, and the database is not distributed. Run npm run cli -- distribute, or remove the setting',
    )
}
