import { assertAnswers } from '../../database/isolation/soundness.ts'
import { BeforeBaseline, pendingMigrations } from '../../database/migrate/ledger.ts'
import {
  beginAsOwner,
  migrate as bringUp,
  missingMigrations,
  withMigrationLock,
} from '../../database/migrate/migrate.ts'
import { OlderRunning } from '../../database/migrate/running-releases.ts'
import {
  NamesInUse,
  type NewNames,
  type Obstacle,
  renameResources,
  type Use,
} from '../../installation/reserved-names/rename-resources.ts'
import { serviceResources } from '../../policy-engine/catalogue/actions.ts'
import { reservedResources, takenBy, takenNames } from '../../policy-engine/catalogue/reserved-names.ts'
import { type Config, roleUrls } from '../../settings/config.ts'
import { defineCommand, type Outcome, Refused } from '../command.ts'
import { flag, Misuse, optional } from '../options.ts'
import { inColumns } from '../printable.ts'
import { hasUrls } from '../with-database.ts'

const resourceName = /^[a-z][a-z0-9_.-]{0,62}$/

/** New names by the old ones, from `old=new,old=new`. */
function readNames(text: string): NewNames {
  const names = new Map<string, string>()
  for (const pair of text.split(',')) {
    const [from = '', to = '', more] = pair.trim().split('=')
    if (!takenNames.includes(from))
      throw new Misuse(`--rename takes old=new, and old is one of ${takenNames.join(', ')}.`)
    if (more !== undefined || !resourceName.test(to) || serviceResources.has(to))
      throw new Misuse(
        'The new name in --rename has 1 to 63 of a-z, 0-9, _, . and -, begins with a letter, and is not a name of the service.',
      )
    names.set(from, to)
  }
  if (new Set(names.values()).size < names.size)
    throw new Misuse('Give each name in --rename its own new name.')
  return names
}

const everyRole = ['api', 'system', 'worker'] as const

export const migrate = defineCommand({
  name: 'migrate',
  about: 'Bring the database of DATABASE_URL to the newest schema, and create missing roles',
  options: {
    check: flag('Change nothing: name missing migrations, and exit 1 if there are any'),
    force: flag('Migrate although processes of a release are connected that the new schema breaks'),
    rename: optional(
      '<old=new,…>',
      'Give resources of applications other names, where this release takes theirs, in all tenants and manifests',
      readNames,
    ),
  },
  example: '--check',
  failure:
    'failed, older processes or names of this release are in use, or with --check: migrations are missing',
  roles: ({ check }) => (check ? ['api'] : everyRole),
  run: ({ config, options, say }) =>
    options.check ? checkMigrations(config) : applyMigrations(config, options, say),
})

async function applyMigrations(
  config: Config,
  { rename: names = new Map(), force }: { rename?: NewNames | undefined; force: boolean },
  say: (line: string) => void,
): Promise<Outcome> {
  const { DATABASE_URL } = config
  if (!DATABASE_URL && config.production)
    throw new Refused('configuration', 'Set DATABASE_URL to the address of the owner role.')
  if (!DATABASE_URL || (!config.production && !hasUrls(config, everyRole)))
    throw developmentMigrates(
      'To migrate your own database, set DATABASE_URL, DATABASE_API_URL, DATABASE_SYSTEM_URL and DATABASE_WORKER_URL.',
    )
  await assertAnswers({ DATABASE_URL })
  const renamed = await rename(DATABASE_URL, names).catch(refuse)
  const applied = await bringUp(DATABASE_URL, roleUrls(config), { onWait: say, force }).catch(refuse)
  const done = applied.length > 0 ? `Applied ${applied.join(', ')}` : 'Up to date'
  const text = renamed.length > 0 ? `Renamed:\n${table(renamed)}\n${done}` : done
  return { data: { applied, ...(names.size > 0 && { renamed }) }, text }
}

function refuse(error: unknown): never {
  if (error instanceof BeforeBaseline) throw new Refused('before_baseline', error.message)
  throw error instanceof OlderRunning ? new Refused('older_running', error.message) : error
}

/** Renames before the migrations, in one transaction. A database without a schema has nothing to rename. */
const rename = (url: string, names: NewNames): Promise<Use[]> =>
  withMigrationLock(url, async (client) => {
    const { rows } = await client.query("select to_regclass('public.tenants') is not null as there")
    if (!rows[0].there) return []
    const pending = await pendingMigrations(client) // an earlier schema than that of 0.2 is refused before anything changes
    await beginAsOwner(client)
    const isTaken = (name: string) => pending.some((one) => one.name === takenBy[name])
    const reserved = [...reservedResources, ...Object.keys(takenBy).filter(isTaken)]
    const renamed = await renameResources(client, names, reserved).catch((error) => {
      throw error instanceof NamesInUse
        ? new Refused(`names_${error.obstacle}`, `${table(error.uses)}\n${obstacles[error.obstacle]}`)
        : error
    })
    await client.query('commit')
    return renamed
  })

const obstacles: Record<Obstacle, string> = {
  reserved:
    'These names belong to the service from this release on. Nothing was changed. Give the applications other names with --rename, for example --rename support_access=app_support_access, and change them in their code.',
  taken: 'The tenant or manifest has the new name already. Nothing was changed. Choose another one.',
  module:
    'The text of these modules has the old name and not the new one. Nothing was changed. Let their authors name both, with the running release, and migrate again.',
}

const table = (uses: readonly Use[]): string =>
  inColumns(
    ['tenant', 'what', 'names'],
    uses.map(({ tenant, what, names }) => [tenant ?? '–', what, names.join(', ')]),
  )

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
