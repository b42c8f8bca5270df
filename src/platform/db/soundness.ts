import pg from 'pg'
import { sqlState } from './database-errors.ts'
import { inspectIsolation, newerSchemaNote } from './isolation.ts'
import { missingMigrations, type RoleUrls, rolesOf } from './migrate.ts'

/** The database is not one to run on; the message tells an operator what is off and what to do. */
export class UnsoundDatabase extends Error {}

/**
 * Throws {@link UnsoundDatabase} where a Postgres does not answer or refuses the login, naming the setting that holds
 * its address, host and port; never the password.
 */
export async function assertAnswers(addresses: Record<string, string | undefined>): Promise<void> {
  for (const [setting, url] of Object.entries(addresses)) {
    if (url === undefined) continue
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
    client.on('error', () => undefined) // lost on the way: connect tells
    await client.connect().catch((error) => {
      throw new UnsoundDatabase(`${setting}: ${refusalOf(error, url)}`)
    })
    await client.end()
  }
}

/** Postgres names what it refuses with a SQLSTATE of five characters; whatever else went wrong, nobody answered. */
function refusalOf(error: unknown, url: string): string {
  const { hostname, port } = new URL(url)
  const place = `${hostname || 'localhost'}:${port || 5432}`
  const code = sqlState(error)
  if (/^28/.test(code)) return `Postgres at ${place} refuses this login or its password (${code})`
  if (/^(?=.*\d)[0-9A-Z]{5}$/.test(code)) return `Postgres at ${place} refuses the connection (${code})`
  if (/CERT|SIGNATURE/.test(codeOf(error)))
    return `the certificate of Postgres at ${place} is not trusted (${codeOf(error)}): name its authority by sslrootcert`
  if (error instanceof Error && /not support SSL/.test(error.message))
    return `Postgres at ${place} speaks no TLS, which sslmode asks for`
  return `no Postgres answers at ${place}`
}

const codeOf = (error: unknown) => String((error as { code?: unknown }).code ?? '')

/**
 * Throws unless every migration is applied and the catalogue proves that tenants are isolated. A service that cannot
 * prove it does not start. `urls` are the addresses that the process has, one at least. Gives a line for the log
 * where a newer release has migrated the database and something of its is left unjudged.
 */
export async function assertDatabaseIsSound(urls: Partial<RoleUrls>): Promise<string | undefined> {
  const given = rolesOf(urls)
  await assertAnswers(
    Object.fromEntries(given.map(([role, url]) => [`DATABASE_${role.toUpperCase()}_URL`, url])),
  )
  const missing = await missingMigrations(given[0]![1])
  if (missing.length > 0)
    throw new UnsoundDatabase(`The database lacks ${missing.join(', ')}. Run: npm run cli -- migrate`)
  const inspections = await inspectIsolation(urls)
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
