import { randomBytes } from 'node:crypto'
import pg from 'pg'
import t from 'tap'
import { isRecent } from '../../src/database/cluster/distribution.ts'
import { disposableDatabase } from '../helpers/database.ts'
import { callCli, runCli, settingsFor } from './run-cli.ts'

const { urls, drop } = await disposableDatabase()
const name = `bailiwick_migrate_${process.pid}_${randomBytes(4).toString('hex')}`
const superuser = new pg.Client({ connectionString: urls.superuser })
await superuser.connect()
await superuser.query(`create database ${name}`)
t.teardown(async () => {
  await superuser.query(`drop database if exists ${name} with (force)`)
  await superuser.end()
  await drop()
})

const at = (url: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href
const empty = Object.fromEntries(Object.entries(urls).map(([role, url]) => [role, at(url)])) as typeof urls
const env = { ...settingsFor(empty), DATABASE_URL: empty.superuser }

/** A connection like that of a running process. */
async function connectedAs(application_name: string, connectionString = empty.superuser): Promise<pg.Client> {
  const client = new pg.Client({ connectionString, application_name })
  client.on('error', () => undefined) // the database is dropped under it
  await client.connect()
  return client
}

t.test(
  'migrate applies all missing migrations to an empty database, and --check names them before',
  async (t) => {
    const before = await callCli(['migrate', '--check', '--json'], { env })
    t.equal(before.code, 1)
    const { missing } = before.json()
    t.match(missing[0], /^0100-baseline$/)
    t.match(await callCli(['migrate', '--check'], { env }), { code: 1, out: /^Missing 0100-baseline, / })
    const process = await connectedAs('bailiwick-api')
    t.match(await callCli(['migrate'], { env }), {
      code: 1,
      said: /^Processes of a release before 0\.3\.0 are connected.*: bailiwick-api \(1\)\. Nothing was changed\. Stop them/,
    })
    await process.query("set application_name = 'bailiwick-api/0.3.0'")
    t.same((await runCli(['migrate', '--json'], { env })).json(), { applied: missing })
    t.match(await callCli(['migrate'], { env }), { code: 0, out: 'Up to date\n' })
    t.match(await callCli(['migrate', '--check'], { env }), { code: 0, out: 'Up to date\n' })
  },
)

t.test('with --force it migrates under processes of an earlier release', async (t) => {
  const { urls: older, drop } = await disposableDatabase({ migrated: false })
  t.teardown(drop)
  const old = await connectedAs('', older.api)
  const env = { ...settingsFor(older), DATABASE_URL: older.superuser }
  t.match(await callCli(['migrate'], { env }), { code: 1, said: /are connected.*: unnamed \(1\)/ })
  t.match(await callCli(['migrate', '--force'], { env }), { code: 0, out: /^Applied 0100-baseline, / })
  await old.end()
})

t.test('a command on an outdated database says what to run', async (t) => {
  const client = new pg.Client({ connectionString: empty.superuser })
  await client.connect()
  await client.query(
    "create table kept as select * from schema_migrations where name like '0091%'; delete from schema_migrations where name like '0091%'",
  )
  t.match(await callCli(['tenants:list'], { env }), {
    code: 1,
    out: '',
    said: /^The database lacks 0091-\S+\. Run: npm run cli -- migrate\n$/,
  })
  await client.query('insert into schema_migrations select * from kept; drop table kept')
  await client.end()
})

t.test('a command for a distributed database refuses another one', async (t) => {
  t.match(await callCli(['tenants:list'], { env: { ...env, DATABASE_DISTRIBUTED: 'true' } }), {
    code: 1,
    said: /^DATABASE_DISTRIBUTED is true, and the database is not distributed\. Run npm run cli -- distribute/,
  })
})

t.test('distribute refuses a Postgres without Citus', async (t) => {
  for (const args of [['distribute'], ['distribute', '--check']])
    t.match(await callCli(args, { env }), {
      code: 1,
      out: '',
      said: /^This database has no Citus\. Install Citus 13\.0/,
    })
  t.match(await callCli(['distribute'], { env: settingsFor(empty) }), { code: 1, said: /^Set DATABASE_URL/ })
  t.same(['12.1-1', '13.0-1', '13.2-1', '14.0-1'].map(isRecent), [false, true, true, true])
})

t.test('where a role does not exist yet, --check says that a new database has to be migrated', async (t) => {
  const stranger = Object.assign(new URL(empty.api), { username: 'bailiwick_missing' }).href
  t.match(await callCli(['migrate', '--check'], { env: { ...env, DATABASE_API_URL: stranger } }), {
    code: 1,
    said: /^DATABASE_API_URL: .* refuses this login .*If this database is new, .* Run: npm run cli -- migrate\n$/,
  })
})

t.test('in development without settings it says that npm start migrates', async (t) => {
  for (const args of [['migrate'], ['migrate', '--check']])
    t.match(await callCli(args, { env: {} }), {
      code: 1,
      out: '',
      said: /^In development npm start migrates its database itself\./,
    })
})

t.test('an unreachable database is named without its password', async (t) => {
  const away = { ...env, DATABASE_URL: 'postgres://owner:canary@127.0.0.1:1/x' }
  const { code, said } = await callCli(['migrate'], { env: away })
  t.match({ code, said }, { code: 1, said: 'DATABASE_URL: no Postgres answers at 127.0.0.1:1\n' })
})
