import { type Config, roleUrls } from '../../config.ts'
import { migrate as bringUp, missingMigrations } from '../../platform/db/migrate.ts'
import { assertAnswers } from '../../platform/db/soundness.ts'
import { defineCommand, type Outcome, Refused } from '../command.ts'
import { flag } from '../options.ts'
import { hasUrls } from '../with-database.ts'

const everyRole = ['api', 'system', 'worker'] as const

export const migrate = defineCommand({
  name: 'migrate',
  about: 'Bring the database of DATABASE_URL to the newest schema, and create missing roles',
  options: { check: flag('Change nothing: name missing migrations, and exit 1 if there are any') },
  example: '--check',
  failure: 'failed, or with --check: migrations are missing',
  roles: ({ check }) => (check ? ['api'] : everyRole),
  run: ({ config, options, say }) => (options.check ? checkMigrations(config) : applyMigrations(config, say)),
})

async function applyMigrations(config: Config, say: (line: string) => void): Promise<Outcome> {
  const { DATABASE_URL } = config
  if (!DATABASE_URL && config.production)
    throw new Refused('configuration', 'Set DATABASE_URL to the address of the owner role.')
  if (!DATABASE_URL || (!config.production && !hasUrls(config, everyRole)))
    throw developmentMigrates(
      'To migrate your own database, set DATABASE_URL, DATABASE_API_URL, DATABASE_SYSTEM_URL and DATABASE_WORKER_URL.',
    )
  await assertAnswers({ DATABASE_URL })
  const applied = await bringUp(DATABASE_URL, roleUrls(config), { onWait: say })
  return { data: { applied }, text: applied.length > 0 ? `Applied ${applied.join(', ')}` : 'Up to date' }
}

const developmentMigrates = (advice: string) =>
  new Refused('configuration', `In development npm start migrates its database itself. ${advice}`)

async function checkMigrations(config: Config): Promise<Outcome> {
  if (!config.production && !hasUrls(config, ['api']))
    throw developmentMigrates('To check your own database, set DATABASE_API_URL.')
  const { api } = roleUrls(config, ['api'])
  await assertAnswers({ DATABASE_API_URL: api })
  const missing = await missingMigrations(api)
  const text = missing.length > 0 ? `Missing ${missing.join(', ')}` : 'Up to date'
  return { exit: missing.length > 0 ? 1 : 0, data: { missing }, text }
}
