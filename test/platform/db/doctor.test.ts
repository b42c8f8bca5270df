import pg from 'pg'
import t from 'tap'
import { examine, lineOf } from '../../../src/cli/commands/doctor.ts'
import { type Config, readConfig } from '../../../src/config.ts'
import { disposableDatabase } from '../../helpers/database.ts'

const { urls, drop } = await disposableDatabase()
const superuser = new pg.Client({ connectionString: urls.superuser })
await superuser.connect()
t.teardown(async () => {
  await superuser.end()
  await drop()
})

const configWith = (api: string): Config =>
  readConfig({
    NODE_ENV: 'test',
    DATABASE_API_URL: api,
    DATABASE_SYSTEM_URL: urls.system,
    DATABASE_WORKER_URL: urls.worker,
  })

async function ask(config: Config) {
  const { ok, findings } = await examine(config)
  const lines = findings.map(lineOf)
  return { ok, findings, lines, text: lines.join('\n') }
}

/** The doctor's output after a change to the database, which is then undone. */
async function askAfter(change: string, undo: string) {
  await superuser.query(change)
  try {
    return await ask(configWith(urls.api))
  } finally {
    await superuser.query(undo)
  }
}

t.test('a sound database gets a tick on every line', async (t) => {
  const { ok, lines } = await ask(configWith(urls.api))
  t.ok(ok, lines.join('\n'))
  t.ok(lines.length >= 20)
  t.ok(lines.every((line) => line.startsWith('✓ ')))
  t.ok(lines.some((line) => /^✓ \d+ tables have row-level security, enabled and forced$/.test(line)))
})

t.test('every check has a name for programs', async (t) => {
  const { findings } = await ask(configWith(urls.api))
  for (const check of ['policies', 'database', 'version', 'clock', 'migrations', 'queues', 'login', 'policy'])
    t.ok(
      findings.some((finding) => finding.check === check),
      check,
    )
})

t.test('a fault of isolation gets a cross and says what to do', async (t) => {
  const { ok, text } = await askAfter(
    'alter table roles no force row level security',
    'alter table roles force row level security',
  )
  t.notOk(ok)
  t.match(text, /^✗ roles: row-level security is not forced\n {2}→ /m)
})

t.test('a missing migration is named, and checks that depend on it are skipped', async (t) => {
  const { ok, text } = await askAfter(
    "create table kept as select * from schema_migrations; delete from schema_migrations where name like '0002%'",
    'insert into schema_migrations select * from kept where name not in (select name from schema_migrations); drop table kept',
  )
  t.notOk(ok)
  t.match(text, /^✗ The database lacks 0002-.*\n {2}→ npm run cli -- migrate$/m)
  t.notMatch(text, /row-level security/)
})

t.test('old tables of the queues are named', async (t) => {
  const { ok, text } = await askAfter(
    'create table kept as select * from bullmq.migration; delete from bullmq.migration where version = (select max(version) from kept)',
    'insert into bullmq.migration select * from kept where version not in (select version from bullmq.migration); drop table kept',
  )
  t.notOk(ok)
  t.match(text, /^✗ The queue tables have version /m)
})

t.test(
  'an unreachable database, a wrong password and a missing address are findings, not crashes',
  async (t) => {
    const away = new URL(urls.api)
    away.port = '1'
    const stranger = new URL(urls.api)
    stranger.password = 'wrong'
    for (const [config, says] of [
      [configWith(away.href), /✗ .*ECONNREFUSED/],
      [configWith(stranger.href), /✗ password authentication failed for user "bailiwick_api"/],
      [readConfig({ NODE_ENV: 'test' }), /✗ .*DATABASE_API_URL/],
    ] as const) {
      const { ok, text } = await ask(config)
      t.notOk(ok)
      t.match(text, says)
      t.notMatch(text, /only-for-tests/, 'and no password is printed')
    }
  },
)
