import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import { disposableDatabase } from '../helpers/database.ts'
import { claimsOf } from '../helpers/service.ts'
import { until } from '../workers/stage.ts'
import { command, nextRelease, present, startRelease, unpackPrevious } from './release.ts'
import { asking, expect, newPerson, startTraffic, walk } from './traffic.ts'

// The release before this one, as its users run it, on a database that is migrated under it. What newer migrations
// there are is tried, and one more, which neither release knows.

t.setTimeout(300_000)
const { urls, drop } = await disposableDatabase({ migrated: false })
const superuser = new pg.Pool({ connectionString: urls.superuser, max: 2 })
t.teardown(async () => {
  await superuser.end()
  await drop()
})
const previous = await unpackPrevious(t)
const synthetic = '9999-of-the-next-release.sql'
const next = nextRelease(t, {
  [synthetic]: `
    create table parcels (
      tenant_id uuid not null references tenants (id), id uuid not null, label_hash text unique, primary key (id));
    alter table parcels enable row level security, force row level security;
    create policy worker_all on parcels for all to bailiwick_worker using (true) with check (true);
    create policy owner_all on parcels for all to bailiwick_owner using (true) with check (true);
    grant select, insert, update, delete on parcels to bailiwick_worker;
    alter table memberships add note text not null default 'none';
    alter table users add nickname text;`,
})
const env = {
  NODE_ENV: 'test',
  DATABASE_API_URL: urls.api,
  DATABASE_SYSTEM_URL: urls.system,
  DATABASE_WORKER_URL: urls.worker,
  DATABASE_POOL_SIZE: '4',
  RATE_LIMIT_ENABLED: 'false',
  SECRET_KEYS: randomBytes(32).toString('base64url'),
}
const asOwner = { ...env, DATABASE_URL: urls.superuser }
const count = async (from: string, values: unknown[] = []) =>
  Number((await superuser.query(`select count(*) from ${from}`, values)).rows[0].count)
const mailsTo = (email: string) => count('captured_mails where recipient = $1', [email])

const first = await command(previous.folder, asOwner, 'migrate')
if (first.code !== 0) throw new Error(first.output)
const applied = async () =>
  (await superuser.query('select name from schema_migrations order by name')).rows.map(({ name }) => name)
const before = await applied()
const oldApi = await startRelease(t, previous.folder, 'api', env)
let oldWorker = await startRelease(t, previous.folder, 'worker', env)

t.test('the packed release is older than this one', async (t) => {
  const { version } = JSON.parse(await readFile(join(present, 'package.json'), 'utf8'))
  t.not(version, previous.version)
  t.equal(JSON.parse(await readFile(join(previous.folder, 'package.json'), 'utf8')).version, previous.version)
})

t.test('its migrations are ours as they were', async (t) => {
  const folder = ['src', 'platform', 'db', 'migrations']
  for (const name of await readdir(join(previous.folder, ...folder)))
    t.equal(
      await readFile(join(present, ...folder, name), 'utf8'),
      await readFile(join(previous.folder, ...folder, name), 'utf8'),
      name,
    )
})

t.test('while it serves, the database is migrated under it, and no request fails', async (t) => {
  const traffic = startTraffic(asking(oldApi.url), 3)
  await traffic.arrived(6)
  const migrated = await command(next, asOwner, 'migrate')
  t.equal(migrated.code, 0, migrated.output)
  t.match(migrated.output, synthetic)
  await traffic.arrived(6)
  const { failures, tenants, asked, slowest } = await traffic.stop()
  t.same(failures, [], oldApi.printed())
  t.ok(tenants.length >= 12)
  t.comment(`${asked} requests, the slowest took ${slowest} ms`)
  t.same((await applied()).slice(0, before.length), before)
})

t.test('another process of it starts on the newer schema and says what it passes over', async (t) => {
  const second = await startRelease(t, previous.folder, 'api', env)
  t.match(second.printed(), /The schema is newer than this release .*parcels/)
  await walk(asking(second.url))
  t.equal(await second.stop(), 0)
  const { code, output } = await command(previous.folder, env, 'doctor')
  t.equal(code, 0, output)
  t.match(output, /^✓ The schema is newer than this release \(.*tables not judged.*parcels/m)
  t.equal((await command(previous.folder, asOwner, 'migrate')).code, 0, 'and its migrate changes nothing')
  t.ok((await applied()).includes(synthetic))
})

t.test('but a policy added to a table that it knows stops it', async (t) => {
  await superuser.query('create policy more on roles for select to bailiwick_worker using (true)')
  await t.rejects(
    startRelease(t, previous.folder, 'api', env),
    /roles: has a policy beyond the frozen list: roles more/,
  )
  await superuser.query('drop policy more on roles')
})

t.test('beside it the present release serves the same sessions', async (t) => {
  const newApi = await startRelease(t, present, 'api', env)
  const [old, fresh] = [asking(oldApi.url), asking(newApi.url)]
  for (const [here, there] of [
    [old, fresh],
    [fresh, old],
  ] as const) {
    const { access, refresh } = await walk(here)
    await expect(200, there('GET', '/api/v1/users/me/', { token: access }))
    const renewed = await expect(200, there('POST', '/api/v1/auth/refresh/', { body: { refresh } }))
    t.equal(claimsOf(renewed.access).tenant_id, claimsOf(access).tenant_id)
    await expect(200, here('GET', '/api/v1/users/me/', { token: renewed.access }))
    await expect(200, here('POST', '/api/v1/auth/refresh/', { body: { refresh: renewed.refresh } }))
  }

  const forOld = newPerson()
  await expect(201, fresh('POST', '/api/v1/auth/register/', { body: forOld }))
  await until(async () => (await mailsTo(forOld.email)) > 0)
  t.pass('mail that the present API wrote is sent by the worker of the previous release')

  t.equal(await oldWorker.stop(), 0)
  const newWorker = await startRelease(t, present, 'worker', env)
  const forNew = newPerson()
  await expect(201, old('POST', '/api/v1/auth/register/', { body: forNew }))
  await until(async () => (await mailsTo(forNew.email)) > 0)
  t.pass('and the other way round')

  oldWorker = await startRelease(t, previous.folder, 'worker', env)
  await superuser.query(
    `insert into outbox (tenant_id, id, queue, payload, created_at)
     select id, gen_random_uuid(), 'parcels', '{"v":1}', now() from tenants limit 1`,
  )
  const both = [startTraffic(old, 2), startTraffic(fresh, 2)]
  for (const traffic of both) await traffic.arrived(4)
  for (const traffic of both) t.same((await traffic.stop()).failures, [])
  await until(async () => (await count('outbox')) === 1, 30_000)
  t.equal(await count('dead_letters'), 0)
  t.equal(await count("outbox where queue = 'parcels'"), 1, 'what neither knows waits')
  for (const running of [newWorker, newApi, oldWorker, oldApi]) t.equal(await running.stop(), 0)
})

t.test('every event of all that has its number, gapless per tenant', async (t) => {
  const { rows } = await superuser.query(
    `select tenant_id, count(*)::int, count(distinct sequence)::int as numbered, min(sequence)::int as first, max(sequence)::int as last
     from events group by tenant_id`,
  )
  t.ok(rows.length > 20, `${rows.length} tenants`)
  const faulty = rows.filter(
    ({ count, numbered, first, last }) => numbered !== count || first !== 1 || last !== count,
  )
  t.same(faulty, [])
})
