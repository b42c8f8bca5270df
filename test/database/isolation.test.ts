import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t from 'tap'
import { readByPerson } from '../../src/database/cluster/distribute.ts'
import { checkIsolation, inspectCatalogue, inspectIsolation } from '../../src/database/isolation/isolation.ts'
import { catalogueChecks } from '../../src/database/isolation/isolation-catalogue.ts'
import { bareEnv } from '../helpers/bare-env.ts'
import { disposableDatabase } from '../helpers/database.ts'
import { mutations } from './isolation-mutations.ts'

const { urls, drop } = await disposableDatabase()
const superuser = new pg.Client({ connectionString: urls.superuser })
await superuser.connect()
t.teardown(async () => {
  await superuser.end()
  await drop()
})

t.test('a migrated database has no fault', async (t) => {
  const inspections = await inspectIsolation(urls)
  t.same(
    inspections.flatMap((inspection) => inspection.faults),
    [],
  )
  t.equal(inspections.length, 3 + 2 + catalogueChecks.length)
  t.same(await checkIsolation(urls), [])
  const { worker } = urls
  t.equal(
    (await inspectIsolation({ worker })).length,
    1 + 2 + catalogueChecks.length,
    'with the addresses of a worker',
  )
})

for (const [title, check, named, sql] of mutations) {
  t.test(`${title}: ${check} names it`, async (t) => {
    await superuser.query('begin')
    await superuser.query(sql)
    await superuser.query('set local role bailiwick_api')
    const found = (await inspectCatalogue(superuser)).flatMap((inspection) => inspection.faults)
    await superuser.query('rollback')
    const lines = found
      .filter((fault) => fault.check === check)
      .map((fault) => `${fault.object}: ${fault.detail}`)
    t.match(lines.join('\n'), new RegExp(named.source, 'm'), { found })
  })
}

t.test('what `distribute` makes of a listed function is no fault', async (t) => {
  await superuser.query('begin')
  await superuser.query('set local role bailiwick_owner')
  await readByPerson(superuser)
  await superuser.query('set local role bailiwick_api')
  const found = (await inspectCatalogue(superuser)).flatMap((inspection) => inspection.faults)
  await superuser.query('rollback')
  t.same(found, [])
})

t.test('every check of the catalogue is tested by a mutation', async (t) => {
  const tried = new Set(mutations.map(([, check]) => check))
  t.same(
    ['known_table', 'policy', ...catalogueChecks.map((check) => check.name)].filter(
      (name) => !tried.has(name),
    ),
    [],
  )
})

t.test("views and definer functions of the operator's extensions are not checked", async (t) => {
  const { rows } = await superuser.query(
    "select from pg_available_extensions where name = 'pg_stat_statements'",
  )
  if (rows.length === 0) return t.pass('this Postgres has no such extension')
  await superuser.query('begin')
  await superuser.query('create extension pg_stat_statements')
  const found = (await inspectCatalogue(superuser)).flatMap((inspection) => inspection.faults)
  await superuser.query('rollback')
  t.same(found, [])
})

/** The faults of the API's login only. The login is a new role, because all test files share the roles. */
async function faultsOfLogin(attributes: string, more = (_role: string) => 'select'): Promise<string[]> {
  const role = `bailiwick_test_${randomBytes(6).toString('hex')}`
  await superuser.query(`create role ${role} login password 'only-for-tests' ${attributes}`)
  try {
    await superuser.query(more(role))
    const url = new URL(urls.api)
    url.username = role
    const found = await checkIsolation({ ...urls, api: url.href })
    return found.filter((fault) => fault.check === 'login').map((fault) => fault.detail)
  } finally {
    await superuser.query(`reassign owned by ${role} to postgres; drop owned by ${role}; drop role ${role}`)
  }
}

t.test('a login with another name is accepted as a member of its role only', async (t) => {
  t.same(await faultsOfLogin('in role bailiwick_api'), [])
})

for (const [attributes, named] of [
  ['bypassrls in role bailiwick_api', 'has BYPASSRLS'],
  ['createrole in role bailiwick_api', 'has CREATEROLE'],
  ['createdb in role bailiwick_api', 'has CREATEDB'],
  ['replication in role bailiwick_api', 'has REPLICATION'],
  ['superuser in role bailiwick_api', 'has SUPERUSER'],
  ['in role bailiwick_api, bailiwick_system', 'is a member of bailiwick_system'],
  ['in role bailiwick_api, bailiwick_owner', 'is a member of bailiwick_owner'],
  ['in role bailiwick_api, pg_read_all_data', 'is a member of pg_read_all_data'],
  ['in role bailiwick_system', 'is not a member of bailiwick_api'],
] as const) {
  t.test(`a login made "${attributes}" ${named}`, async (t) => {
    t.ok((await faultsOfLogin(attributes)).some((detail) => detail.startsWith(named)))
  })
}

t.test('a login that owns a table, or presets a tenant, is named', async (t) => {
  const owns = (role: string) =>
    `create table public.of_its_own (); alter table public.of_its_own owner to ${role}`
  t.match(await faultsOfLogin('in role bailiwick_api', owns), ['owns 1 objects'])
  await superuser.query('drop table public.of_its_own')
  const scoped = (role: string) =>
    `alter role ${role} set app.tenant_id = '00000000-0000-0000-0000-000000000001'`
  t.match(await faultsOfLogin('in role bailiwick_api', scoped), [/^starts with a scope/])
})

t.test("the address of the superuser, the owner or another role instead of the API's is named", async (t) => {
  for (const [url, named] of [
    [urls.superuser, 'has SUPERUSER'],
    [urls.owner, 'is not a member of bailiwick_api'],
    [urls.worker, 'is not a member of bailiwick_api'],
  ] as const) {
    const found = await checkIsolation({ ...urls, api: url })
    t.ok(found.some((fault) => fault.check === 'login' && fault.detail === named))
  }
})

/** Runs the API process until it exits, for at most 20 s; gives its exit code and output. */
async function startApi(api: string) {
  const main = fileURLToPath(new URL('../../src/start/main.ts', import.meta.url))
  const child = spawn(process.execPath, [main], {
    env: {
      ...bareEnv,
      NODE_ENV: 'test',
      HOST: '127.0.0.1',
      PORT: '0',
      SECRET_KEYS: Buffer.alloc(32).toString('base64url'),
      DATABASE_API_URL: api,
      DATABASE_SYSTEM_URL: urls.system,
    },
    timeout: 300_000,
  })
  const [said, complained, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code, output: said + complained }
}

t.test("the API process refuses to start with a superuser's address, and says why", async (t) => {
  const { code, output } = await startApi(urls.superuser)
  t.equal(code, 1)
  t.match(output, /postgres: has SUPERUSER/)
  t.notMatch(output, new RegExp(new URL(urls.superuser).password || 'only-for-tests'))
})

t.test('the API process refuses to start when row-level security of one table is not forced', async (t) => {
  await superuser.query('alter table roles no force row level security')
  const { code, output } = await startApi(urls.api)
  await superuser.query('alter table roles force row level security')
  t.equal(code, 1)
  t.match(output, /roles: row-level security is not forced/)
})
