import { randomBytes, randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import pg from 'pg'
import t from 'tap'
import { checkServices } from '../../src/cli/check-services.ts'
import { examine } from '../../src/cli/commands/doctor.ts'
import { lineOf } from '../../src/cli/finding.ts'
import { createSealer } from '../../src/crypto/seal.ts'
import { type Config, readConfig } from '../../src/settings/config.ts'
import { disposableDatabase } from '../helpers/database.ts'
import { mailServer } from '../workers/mail-server.ts'
import { hasRedis, startRedis } from '../workers/stage.ts'

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
    "create table kept as select * from schema_migrations; delete from schema_migrations where name like '0091%'",
    'insert into schema_migrations select * from kept where name not in (select name from schema_migrations); drop table kept',
  )
  t.notOk(ok)
  t.match(text, /^✗ The database lacks 0091-.*\n {2}→ npm run cli -- migrate$/m)
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

t.test('a counter that differs from the rows is a finding, and its statement repairs it', async (t) => {
  const tenant = randomUUID()
  await superuser.query(`
    insert into tenants (id, name, slug, created_at, updated_at) values ('${tenant}', 'x', '${tenant}', now(), now());
    insert into departments (id, tenant_id, name, created_at, updated_at) values (gen_random_uuid(), '${tenant}', 'x', now(), now());
    insert into row_counts (tenant_id, relation, rows) values ('${tenant}', 'webhooks', 3)`)
  const { ok, findings, text } = await ask(configWith(urls.api))
  t.notOk(ok)
  t.match(
    text,
    `✗ 2 counters of 1 tenants are wrong, the first of tenant ${tenant}: row_counts has 0 departments, and there are 1`,
  )
  const { advice = '' } = findings.find(({ check }) => check === 'counts')!
  await superuser.query(`set role bailiwick_owner; ${advice.slice(advice.indexOf('do $$'))}; reset role`)
  t.match((await ask(configWith(urls.api))).text, '✓ The counters of 1 tenants agree with their rows')
  await superuser.query(`
    delete from departments; delete from row_counts; delete from tenants where id = '${tenant}'`)
})

t.test('a membership that person_memberships lacks is a finding, and one too many is a note', async (t) => {
  const [tenant, member, gone] = [randomUUID(), randomUUID(), randomUUID()]
  await superuser.query(`
    insert into tenants (id, name, slug, created_at, updated_at) values ('${tenant}', 'x', '${tenant}', now(), now());
    insert into users (id, email, password_hash, date_joined, updated_at)
    values ('${member}', 'member@example.com', '', now(), now()), ('${gone}', 'gone@example.com', '', now(), now());
    insert into memberships (tenant_id, id, user_id, email, is_active, date_joined, person_version, joined_at, updated_at)
    values ('${tenant}', gen_random_uuid(), '${member}', 'member@example.com', true, now(), 1, now(), now());
    insert into row_counts (tenant_id, relation, rows) values ('${tenant}', 'memberships', 1);
    insert into person_memberships (tenant_id, user_id) values ('${tenant}', '${gone}')`)
  const { ok, findings, text } = await ask(configWith(urls.api))
  t.notOk(ok)
  t.match(
    text,
    `✗ person_memberships lacks members of 1 of 1 tenants, 1 of the first, ${tenant}; it also names 1 people who are none, which is harmless`,
  )
  const { advice = '' } = findings.find(({ check }) => check === 'memberships')!
  await superuser.query(
    `set role bailiwick_owner; ${advice.slice(advice.indexOf('insert into'))}; reset role`,
  )
  t.match(
    (await ask(configWith(urls.api))).text,
    '✓ person_memberships knows the members of 1 tenants; it also names 1 people who are none, which is harmless',
  )
  await superuser.query(`
    delete from memberships; delete from row_counts; delete from users where id in ('${member}', '${gone}');
    delete from person_memberships; delete from tenants where id = '${tenant}'`)
})

t.test('keys that open nothing in the database are a finding', async (t) => {
  const settings = {
    NODE_ENV: 'test',
    DATABASE_API_URL: urls.api,
    DATABASE_SYSTEM_URL: urls.system,
    DATABASE_WORKER_URL: urls.worker,
    SECRET_KEYS: 'B'.repeat(43),
  }
  t.match((await ask(readConfig(settings))).text, /^✓ SECRET_KEYS opens what is sealed in the database$/m)
  const sealer = createSealer([randomBytes(32)])
  await superuser.query(
    "insert into signing_keys (kid, algorithm, public_jwk, private_jwk_sealed, created_at) values ('k', 'ES256', '{}', $1, now())",
    [sealer.seal('signing-key', '{}', 'k')],
  )
  const { ok, text } = await ask(readConfig(settings))
  await superuser.query('delete from signing_keys')
  t.notOk(ok)
  t.match(
    text,
    /^✗ SECRET_KEYS opens nothing that is sealed in this database \(signing_keys\.private_jwk_sealed\)/m,
  )
})

t.test('a mail server and a Redis that do not answer are findings', async (t) => {
  const services = (settings: Record<string, string>) =>
    checkServices(readConfig({ NODE_ENV: 'test', ...settings }))
  const server = await mailServer(t)
  await server.start()
  const up = await services({ SMTP_URL: server.url, MAIL_FROM: 'mail@example.com' })
  t.match(up, [{ check: 'mail', ok: true, says: /accepts the login; mails come from mail@example\.com$/ }])
  const down = await services({
    SMTP_URL: 'smtp://ada:canary@127.0.0.1:1',
    REDIS_URL: 'redis://:canary@127.0.0.1:1',
  })
  t.match(down, [
    { check: 'redis', ok: false, says: /^Redis at 127\.0\.0\.1:1 does not answer: / },
    {
      check: 'mail',
      ok: false,
      says: /^The mail server at 127\.0\.0\.1:1 does not accept a login: .*ESOCKET/,
    },
  ])
  t.notMatch(JSON.stringify(down), 'canary', 'and no password is printed')
})

t.test('a Redis that evicts keys is a finding', { skip: hasRedis ? false : 'no redis-server' }, async (t) => {
  const redis = await startRedis(t)
  const config = readConfig({ NODE_ENV: 'test', REDIS_URL: redis.url })
  t.match(await checkServices(config), [{ ok: true, says: /^Redis [\d.]+ at .* keeps its keys$/ }])
  const client = new Redis(redis.url)
  await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
  client.disconnect()
  t.match(await checkServices(config), [
    { ok: false, says: /^Redis evicts keys \(maxmemory-policy allkeys-lru\)/ },
  ])
})

t.test('in production, links without TLS and a proxy that is not trusted are findings', async (t) => {
  const services = (settings: object) =>
    checkServices({ ...readConfig({ NODE_ENV: 'test' }), production: true, ...settings } as Config)
  t.match(await services({ PUBLIC_URL: 'http://id.example.com' }), [
    { check: 'public_url', ok: false },
    { check: 'trusted_proxies', ok: true },
  ])
  t.match(await services({ PUBLIC_URL: 'https://id.example.com' }), [
    { check: 'public_url', ok: true },
    { check: 'trusted_proxies', ok: false, says: /^TRUSTED_PROXIES is not set/ },
  ])
})
