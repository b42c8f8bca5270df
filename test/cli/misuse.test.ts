import t from 'tap'
import { commands } from '../../src/cli/commands.ts'
import { callCli as call, runCli } from './run-cli.ts'

t.test(
  'a process gives the same answer as the function, exits with its code, and does not hang',
  async (t) => {
    for (const args of [
      ['--help'],
      ['fly'],
      ['doctor', '--help'],
      ['doctor', '--fast'],
      ['settings', '--json'],
    ]) {
      const { code, out, said } = await runCli(args)
      const expected = await call(args)
      t.same({ code, out, said }, { code: expected.code, out: expected.out, said: expected.said })
    }
  },
)

t.test('an empty stdin is refused as a password', async (t) => {
  const args = ['admin:create', '--email', 'a@example.com', '--password-stdin']
  t.match(await runCli(args), { code: 2, out: '', said: /^Nothing was piped in\.\n/ })
})

t.test(
  '--help of every command prints usage, options, an example and exit codes, and does nothing',
  async (t) => {
    for (const { name, options } of commands) {
      const { code, out, said } = await call([name, '--help'])
      t.equal(code, 0, name)
      t.equal(said, '', name)
      t.match(out, `npm run cli -- ${name}`)
      t.match(out, /\nExample\n.*\n\nExit codes\n {2}0 .*\n {2}1 .*\n {2}2 .*\n$/, name)
      for (const option of Object.keys(options)) t.match(out, `\n  --${option}`, `${name} --${option}`)
    }
  },
)

t.test('every command exits 2 on an unknown option, and prints its name and the usage', async (t) => {
  for (const { name } of commands) {
    const { code, out, said } = await call([name, '--pasword=canary-in-argv'])
    t.equal(code, 2, name)
    t.equal(out, '', name)
    t.match(said, `Unknown option --pasword.\n\n  npm run cli -- ${name}`)
    t.notMatch(said, 'canary', 'the value is not repeated')
  }
})

t.test('missing, malformed and contradictory options are named, without their values', async (t) => {
  const wrong: [string[], string | RegExp][] = [
    [['admin:create'], '--email is missing.'],
    [['admin:create', '--email'], '--email needs a value.'],
    [['admin:create', '--email', '--json'], '--email needs a value.'],
    [['admin:create', '--emial', 'canary'], 'Unknown option --emial. Did you mean --email?'],
    [['tenants:list', '--limit', '3', '--limit', '5'], '--limit is given twice.'],
    [['tenants:list', '--status', 'activ'], 'deleted. Did you mean active?'],
    [['admin:create', '--email', 'canary'], '--email must be an e-mail address'],
    [
      ['admin:create', '--email', 'a@example.com', 'canary'],
      'Unexpected argument: give every value by an option.',
    ],
    [['admin:create', '--email', 'a@example.com', '--password', 'canary'], 'Unknown option --password.'],
    [['admin:create', '--email', 'a@example.com', '--yes=canary'], '--yes takes no value.'],
    [
      ['admin:create', '--email', 'a@example.com', '--tenant', ' '],
      '--tenant is refused: Give the tenant a name.',
    ],
    [['users:deactivate'], 'Name one person: give either --email or --id.'],
    [['users:deactivate', '--id', 'canary'], '--id must be an id (a UUID).'],
    [['users:activate', '--id', crypto.randomUUID(), '--email', 'a@example.com'], 'Name one person'],
    [['tenants:list', '--limit', '0'], '--limit must be a whole number from 1 to 10000.'],
    [['tenants:list', '--status', 'canary'], '--status must be one of active, suspended, archived, deleted.'],
    [['dead-letters:replay'], 'Give either --id or --all.'],
    [['dead-letters:replay', '--all', '--id', crypto.randomUUID()], 'Give either --id or --all.'],
    [
      ['dead-letters:replay', '--id', crypto.randomUUID(), '--queue', 'email'],
      '--queue and --reason need --all.',
    ],
    [['dead-letters:purge', '--yes'], 'Give at least one of --id, --before, --queue and --reason.'],
    [['dead-letters:purge', '--before', '21.11.2026'], '--before must be a date, such as 2026-11-21'],
    [['seed', '--members', '3'], '--members needs --tenants.'],
  ]
  for (const [args, sentence] of wrong) {
    const { code, out, said } = await call(args)
    t.equal(code, 2, args.join(' '))
    t.equal(out, '', args.join(' '))
    t.match(said, sentence, args.join(' '))
    t.notMatch(said, 'canary', args.join(' '))
  }
})

t.test(
  'no command or an unknown one exits 2 with the list on stderr; --help exits 0 with the list on stdout',
  async (t) => {
    const none = await call([])
    t.match(none, { code: 2, out: '', said: /^Name a command\.\n/ })
    const unknown = await call(['fly'])
    t.match(unknown, { code: 2, out: '', said: /^Unknown command fly\.\n/ })
    const near = await call(['user:find'])
    t.match(near, { code: 2, out: '', said: /^Unknown command user:find\. Did you mean users:find\?\n/ })
    const help = await call(['--help'])
    t.match(help, { code: 0, said: '' })
    for (const { name } of commands) t.match(help.out, `\n  ${name} `)
    t.match(unknown.said, help.out.trim())
  },
)

t.test('with --json every failure is one document on stderr, and stdout stays empty', async (t) => {
  const told = async (args: string[], env = {}) => {
    const { code, out, said } = await call(args, { env })
    t.equal(out, '', args.join(' '))
    return { code, ...JSON.parse(said) }
  }
  t.match(await told(['fly', '--json']), {
    code: 2,
    error: { code: 'misuse', message: 'Unknown command fly.' },
  })
  t.match(await told(['users:activate', '--json']), { code: 2, error: { code: 'misuse' } })
  t.match(await told(['tenants:list', '--json'], { NODE_ENV: 'production' }), {
    code: 1,
    error: { code: 'configuration', message: /DATABASE_SYSTEM_URL is missing/ },
  })
  t.match(
    await told(['tenants:list', '--json'], { DATABASE_SYSTEM_URL: 'postgres://who:canary@127.0.0.1:1/x' }),
    {
      code: 1,
      error: { code: 'database', message: 'DATABASE_SYSTEM_URL: no Postgres answers at 127.0.0.1:1' },
    },
  )
})

t.test('a command in production needs the addresses of its own roles and no others', async (t) => {
  const { said } = await call(['tenants:list'], { env: { NODE_ENV: 'production' } })
  t.match(said, 'DATABASE_SYSTEM_URL is missing')
  t.notMatch(said, /DATABASE_(API|WORKER)_URL/)
  const { said: ofWorker } = await call(['dead-letters'], { env: { NODE_ENV: 'production' } })
  t.match(ofWorker, 'DATABASE_WORKER_URL is missing')
  const short = await call(['tenants:list'], { env: { NODE_ENV: 'production', SECRET_KEYS: 'abc' } })
  t.match(short.said, 'SECRET_KEYS must hold keys of 32 bytes')
  t.notMatch(short.said, 'SECRET_KEYS is missing', 'one fault for each setting')
  t.notMatch(ofWorker, /DATABASE_(API|SYSTEM)_URL/)
})

t.test('settings prints tables, the first of what an operator sets, or with --json a list', async (t) => {
  const { code, out } = await call(['settings'])
  t.equal(code, 0)
  t.match(out, '| `PORT` | 3000 | ')
  const { settings } = (await call(['settings', '--json'])).json()
  const groups = settings.map(({ group }: { group: string }) => group)
  t.equal(groups.lastIndexOf('What an operator sets'), 19, 'twenty settings')
  t.match(
    settings.find(({ name }: { name: string }) => name === 'PORT'),
    { group: 'What an operator sets', default: '3000', about: String },
  )
})

t.test(
  'REQUIRE_TLS speaks for Postgres, Redis and the collector, and the setting of each overrides it',
  async (t) => {
    const remote = {
      NODE_ENV: 'production',
      DATABASE_SYSTEM_URL: 'postgres://db.example.com/x',
      REDIS_URL: 'redis://redis.example.com',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example.com:4318',
    }
    const withoutTls = async (env: object) =>
      [...(await call(['tenants:list'], { env: { ...remote, ...env } })).said.matchAll(/- (\w+) has no TLS/g)]
        .map(([, name]) => name)
        .join(' ')
    t.equal(await withoutTls({}), 'DATABASE_SYSTEM_URL REDIS_URL OTEL_EXPORTER_OTLP_ENDPOINT')
    t.equal(await withoutTls({ REQUIRE_TLS: 'false' }), '')
    t.equal(await withoutTls({ REQUIRE_TLS: 'false', REDIS_REQUIRE_TLS: 'true' }), 'REDIS_URL')
  },
)

t.test('commands for development refuse to run in production', async (t) => {
  const secret = Buffer.alloc(32, 7).toString('base64url')
  const env = {
    NODE_ENV: 'production',
    SECRET_KEYS: secret,
    SMTP_URL: 'smtp://127.0.0.1:1',
    MAIL_FROM: 'no-reply@id.example.com',
    PUBLIC_URL: 'https://id.example.com',
    DATABASE_API_URL: 'postgres://api@127.0.0.1:1/x',
    DATABASE_SYSTEM_URL: 'postgres://system@127.0.0.1:1/x',
  }
  const said = async (...args: string[]) => {
    const ran = await call([...args, '--json'], { env })
    t.match(ran, { code: 1, out: '' })
    return JSON.parse(ran.said).error
  }
  t.match(await said('reset', '--yes'), { code: 'production' })
  t.match(await said('seed'), { code: 'production', message: /add --yes/ })
  t.match(await said('seed', '--yes'), { code: 'database' }, '--yes allows it')
})

t.test('destructive commands ask first, and exit 2 without a terminal', async (t) => {
  for (const args of [['reset'], ['dead-letters:purge', '--before', '2026-11-21']])
    t.match(await runCli(args), {
      code: 2,
      out: '',
      said: /^There is no terminal to ask for confirmation: add --yes\.\n/,
    })
})
