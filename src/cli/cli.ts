import { parseArgs } from 'node:util'
import { type Config, readConfig, roleUrls, settingsTable } from '../config.ts'
import { migrate, missingMigrations } from '../platform/db/migrate.ts'
import { assertAnswers } from '../platform/db/soundness.ts'
import { reportAndExit } from '../stop-signal.ts'
import { doctor } from './doctor.ts'
import { reseal, rotate } from './keys.ts'
import { buildPolicies, checkPolicies } from './policies.ts'
import { reset } from './reset.ts'
import { withDatabase } from './with-database.ts'

interface Invocation {
  config: Config
  json: boolean
  yes: boolean
  print: (line: string) => void
}

interface Command {
  about: string
  options: string
  /** Gives the exit code. */
  run(invocation: Invocation): Promise<number>
}

/** Every command: what it does in a line, its options, and its work. */
const commands: Record<string, Command> = {
  migrate: {
    about: 'Bring the database of DATABASE_URL to the newest schema, making roles that are missing',
    options: '--json',
    run: async ({ config, json, print }) => {
      if (!config.DATABASE_URL) throw new Error('Set DATABASE_URL to the address of the owner.')
      const urls = roleUrls(config)
      await assertAnswers({ DATABASE_URL: config.DATABASE_URL })
      const applied = await migrate(config.DATABASE_URL, urls, { waiting: console.error })
      print(
        json
          ? JSON.stringify({ applied })
          : applied.length > 0
            ? `Applied ${applied.join(', ')}`
            : 'Up to date',
      )
      return 0
    },
  },
  'migrate:check': {
    about: 'Exit 1 where migrations are missing, naming them',
    options: '--json',
    run: async ({ config, json, print }) => {
      const { api } = roleUrls(config, ['api'])
      await assertAnswers({ DATABASE_API_URL: api })
      const missing = await missingMigrations(api)
      print(
        json
          ? JSON.stringify({ missing })
          : missing.length > 0
            ? `Missing ${missing.join(', ')}`
            : 'Up to date',
      )
      return missing.length > 0 ? 1 : 0
    },
  },
  doctor: {
    about:
      'Check the database, its isolation of tenants, migrations, clock and policies; exit 1 where something is off',
    options: '--json',
    run: ({ config, json, print }) =>
      withDatabase(config, (complete) => doctor({ config: complete, print, json })),
  },
  'keys:rotate': {
    about: 'Add a signing key: running processes publish it within 60 s and sign with it after 90 s',
    options: '--json',
    run: ({ config, json, print }) =>
      withDatabase(config, (complete) => rotate({ config: complete, json, print })),
  },
  'keys:reseal': {
    about:
      'Seal anew by the first of SECRET_KEYS what the others sealed; keyed hashes (refresh tokens, recovery codes) need the old key until they are renewed',
    options: '--json',
    run: ({ config, json, print }) =>
      withDatabase(config, (complete) => reseal({ config: complete, json, print })),
  },
  reset: {
    about: 'Drop the embedded database and everything else in DATA_DIR; asks unless --yes',
    options: '--yes',
    run: ({ config, yes, print }) => reset({ config, yes, print }),
  },
  'policies:build': {
    about: 'Compile policies/ to the committed bundle, with the pinned opa',
    options: '',
    run: async ({ config, print }) => {
      await buildPolicies({ print, opaPath: config.OPA_PATH })
      return 0
    },
  },
  'policies:check': {
    about:
      'Format, strict check, lint, tests with coverage, and a rebuild compared with the committed bundle',
    options: '',
    run: async ({ config, print }) => {
      await checkPolicies({ print, opaPath: config.OPA_PATH })
      return 0
    },
  },
  settings: {
    about: 'Print every setting as the table of the README',
    options: '',
    run: async ({ print }) => {
      print(settingsTable())
      return 0
    },
  },
}

function usage(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length))
  const rows = Object.entries(commands).map(([name, { about }]) => `  ${name.padEnd(width)}  ${about}`)
  return ['npm run cli -- <command> [--json] [--yes] [--help]', '', ...rows].join('\n')
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      yes: { type: 'boolean', default: false },
      help: { type: 'boolean' },
    },
  })
  const [name = ''] = positionals
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (name && !command) console.error(`There is no command ${name}.\n`)
  if (values.help || !command) {
    console.log(command ? `${command.about}\n\n  npm run cli -- ${name} ${command.options}` : usage())
    process.exit(values.help ? 0 : 2)
  }
  const { json, yes } = values
  process.exit(await command.run({ config: readConfig(), json, yes, print: (line) => console.log(line) }))
}

main().catch(reportAndExit)
