import pg from 'pg'
import t from 'tap'
import { listMigrations, readBaseline } from '../../src/database/migrate/ledger.ts'
import { callCli } from '../cli/run-cli.ts'
import { disposableDatabase } from '../helpers/database.ts'
import { query, withClient } from '../helpers/query.ts'
import { catalogueOf } from './release-0.2/catalogue.ts'
import { restore, secretKey, settingsFor } from './release-0.2/restore.ts'
import { servesWhatIsKept } from './release-0.2/sign-in.ts'

// A database of release 0.2, whose 51 migrations the schema files replace: release-0.2/make.ts.

const old = await disposableDatabase({ migrated: false })
const fresh = await disposableDatabase()
t.teardown(async () => {
  await old.drop()
  await fresh.drop()
})
await restore(old.urls.superuser, 'postgres')
const url = old.urls.superuser
const env = {
  NODE_ENV: 'test',
  SECRET_KEYS: secretKey,
  DATABASE_URL: url,
  ...settingsFor(url),
}
const catalogue = (of: string) => withClient(of, catalogueOf)
const ledger = async () =>
  (await query(url, 'select name from schema_migrations order by name')).map(({ name }) => String(name))

t.test('the schema files make the tables of 0.2', async (t) => {
  const { urls, drop } = await disposableDatabase({ migrated: false })
  t.teardown(drop)
  const { text } = await readBaseline()
  await query(
    urls.superuser,
    'grant create, usage on schema public to bailiwick_owner; set role bailiwick_owner',
    'create table schema_migrations (name text primary key, checksum text not null, applied_at timestamptz not null)',
    'grant select on schema_migrations to bailiwick_api, bailiwick_system, bailiwick_worker',
    text,
  )
  const [made, kept] = [await catalogue(urls.superuser), await catalogue(url)]
  t.ok(kept.length > 2_000, `${kept.length} lines`)
  t.same(made, kept)
})

t.test('migrate refuses every other list of migrations than that of 0.2', async (t) => {
  const before = await ledger()
  t.equal(before.length, 51)
  const changes = {
    'one that is missing': "delete from schema_migrations where name like '0089-%'",
    'one that was edited': "update schema_migrations set checksum = repeat('0', 64) where name like '0089-%'",
    'one of another branch': "insert into schema_migrations values ('0088-notes.sql', 'x', now())",
    'an early one': "delete from schema_migrations where name > '0013'",
  }
  await query(url, 'create table kept as select * from schema_migrations')
  for (const [title, change] of Object.entries(changes)) {
    await query(url, change)
    const found = await ledger()
    for (const args of [['migrate'], ['migrate', '--check'], ['tenants:list']])
      t.match(await callCli(args, { env }), { code: 1, said: /upgrade to 0\.2 first/ }, `${title}: ${args}`)
    t.match((await callCli(['doctor'], { env })).out, /^✗ .*upgrade to 0\.2 first/m, title)
    t.same(await ledger(), found, 'nothing was changed')
    await query(url, 'delete from schema_migrations; insert into schema_migrations select * from kept')
  }
  await query(url, 'drop table kept')
})

t.test('migrate puts one row in the place of the 51, and applies what came since', async (t) => {
  const { missing } = (await callCli(['migrate', '--check', '--json'], { env })).json()
  t.equal(missing[0], '0100-baseline')
  const older = new pg.Client({ connectionString: old.urls.api, application_name: 'bailiwick-api' })
  await older.connect()
  const kept = await ledger()
  t.match(await callCli(['migrate'], { env }), {
    code: 1,
    said: /Processes of a release before 0\.3\.0 are connected, which would store wrong data on the new schema: bailiwick-api \(1\)/,
  })
  t.same(await ledger(), kept, 'nothing was changed')
  await older.end()
  t.same((await callCli(['migrate', '--json'], { env })).json(), { applied: missing })
  t.same(await ledger(), missing.toSorted())
  t.match(await callCli(['migrate'], { env }), { code: 0, out: 'Up to date\n' })
  t.same(await catalogue(url), await catalogue(fresh.urls.superuser), 'and then it is as a fresh database')
})

t.test('a database that has migrations of after 0.2 keeps them', async (t) => {
  const between = await disposableDatabase({ migrated: false })
  t.teardown(between.drop)
  const at = between.urls.superuser
  await restore(at, 'postgres')
  const [, first, second] = await listMigrations()
  const row = 'insert into schema_migrations values ($1, $2, now())'
  await withClient(at, async (client) => {
    await client.query('set role bailiwick_owner')
    for (const { name, text, checksum } of [first!, second!]) {
      await client.query(text)
      await client.query(row, [name, checksum])
    }
  })
  const settings = { ...env, DATABASE_URL: at, ...settingsFor(at) }
  const { applied } = (await callCli(['migrate', '--json'], { env: settings })).json()
  t.equal(applied[0], '0100-baseline')
  t.notOk(applied.includes(first!.name) || applied.includes(second!.name))
  t.same(await catalogue(at), await catalogue(fresh.urls.superuser))
})

t.test('people sign in with their old password and app, and find what they had', (t) =>
  servesWhatIsKept(t, 'postgres', env),
)
