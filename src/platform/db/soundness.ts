import { checkIsolation } from './isolation.ts'
import { missingMigrations, type RoleUrls } from './migrate.ts'

/** The database is not one to run on; the message tells an operator what is off and what to do. */
export class UnsoundDatabase extends Error {}

/**
 * Throws unless every migration is applied and the catalogue proves that tenants are isolated. A service that cannot
 * prove it does not start.
 */
export async function assertDatabaseIsSound(urls: RoleUrls): Promise<void> {
  const missing = await missingMigrations(urls.api)
  if (missing.length > 0)
    throw new UnsoundDatabase(`The database lacks ${missing.join(', ')}. Run: npm run cli -- migrate`)
  const faults = await checkIsolation(urls)
  if (faults.length > 0)
    throw new UnsoundDatabase(
      [
        'Tenants are not isolated in this database:',
        ...faults.map((f) => `  - ${f.object}: ${f.detail} (${f.check})`),
      ].join('\n'),
    )
}
