import { randomBytes } from 'node:crypto'
import pg from 'pg'
import t from 'tap'
import { examine } from '../../src/cli/commands/doctor.ts'
import { lineOf } from '../../src/cli/finding.ts'
import { checkIsolation, type Inspection, inspectCatalogue } from '../../src/database/isolation/isolation.ts'
import { assertDatabaseIsSound } from '../../src/database/isolation/soundness.ts'
import { listKnownTables } from '../../src/database/migrate/newer-schema.ts'
import { readConfig } from '../../src/settings/config.ts'
import { disposableDatabase } from '../helpers/database.ts'
import { mutations } from './isolation-mutations.ts'

// A release that finds newer migrations than its own keeps serving, and checks everything except their new tables.

const { urls, drop } = await disposableDatabase()
const superuser = new pg.Client({ connectionString: urls.superuser })
await superuser.connect()
t.teardown(async () => {
  await superuser.end()
  await drop()
})

/** A newer release's migration: its table has a policy for all tenants, which is not in the lists of this release. */
const newerRelease = `
  insert into schema_migrations values ('9998-orders.sql', 'x', now());
  set role bailiwick_owner;
  create table orders (tenant_id uuid not null, id uuid not null, note_hash text, state text unique, primary key (id));
  alter table orders enable row level security, force row level security;
  create policy worker_all on orders for all to bailiwick_worker using (true) with check (true);
  create policy system_reads on orders for select to bailiwick_system using (true);
  grant select, insert on orders to bailiwick_worker, bailiwick_system;
  create table lookups (id uuid primary key, order_id uuid references orders (id));
  grant select on lookups to bailiwick_api;
  create function copy() returns trigger language plpgsql as $$ begin return null; end $$;
  create trigger copied after insert on orders for each statement execute function copy();
  reset role`

/** The findings after `sql`, which is then undone. */
async function found(...statements: string[]): Promise<Inspection[]> {
  await superuser.query('begin')
  try {
    for (const statement of statements) await superuser.query(statement)
    await superuser.query('set local role bailiwick_api')
    return await inspectCatalogue(superuser)
  } finally {
    await superuser.query('rollback')
  }
}

const faultsIn = (inspections: Inspection[]) =>
  inspections.flatMap(({ faults }) =>
    faults.map(({ check, object, detail }) => `${check}: ${object}: ${detail}`),
  )

t.test('a release knows all tables that its migrations create', async (t) => {
  const { rows } = await superuser.query(
    "select tablename from pg_tables where schemaname = 'public' order by 1",
  )
  t.same(
    (await listKnownTables()).sort(),
    rows.map(({ tablename }) => tablename),
  )
})

t.test('tables of a newer release are skipped, and the result says so', async (t) => {
  const inspections = await found(newerRelease)
  t.same(faultsIn(inspections), [])
  t.equal(
    inspections[0]!.holds,
    'The schema is newer than this release (9998-orders.sql): 2 tables not checked, lookups, orders',
  )
})

t.test('without a newer migration nothing is skipped', async (t) => {
  const listed = /insert into schema_migrations values \('9998[^;]*;/
  const tables = newerRelease.replace(listed, '')
  const named = (faults: string[]) => [
    ...new Set(faults.filter((line) => /orders|lookups/.test(line)).map((l) => l.split(':')[0])),
  ]
  const whole = [
    'policy',
    'rls_forced',
    'granted_table',
    'primary_key',
    'unique_key',
    'foreign_key',
    'secret_column',
    'trigger',
  ]
  t.same(named(faultsIn(await found(tables))).sort(), whole.sort())
  for (const name of ['0000-earlier.sql', '0005-of-another-branch.sql', 'orders.sql', '99999-long.sql']) {
    const listed = `insert into schema_migrations values ('${name}', 'x', now())`
    t.same(named(faultsIn(await found(tables, listed))).sort(), whole, name)
  }
})

// On the tables of this release, a newer release can change nothing that the checks see; views, functions and grants
// are always checked. These mutations concern tables of a newer release only.
const ofNewTables = new Set([
  'a new table without row-level security',
  'a new table without a policy',
  'a partition that can be read by itself',
])

for (const [title, check, named, sql] of mutations.filter(([title]) => !ofNewTables.has(title)))
  t.test(`on a newer schema, too, ${title}: ${check} names it`, async (t) => {
    const lines = faultsIn(await found(newerRelease, sql)).filter((line) => line.startsWith(`${check}: `))
    t.match(lines.map((line) => line.slice(check.length + 2)).join('\n'), new RegExp(named.source, 'm'))
  })

const scope = "nullif(current_setting('app.tenant_id', true), '')::uuid"
const behindIt: [title: string, named: RegExp, sql: string][] = [
  [
    'a policy of a newer release on a table of this one',
    /^policy: roles: has a policy beyond/,
    'create policy worker_reads on roles for select to bailiwick_worker using (true)',
  ],
  [
    'a policy on a table of this release that reads a newer table',
    /^policy: roles: has a policy beyond/,
    'create policy ordered on roles for select to bailiwick_api using (id in (select id from public.orders))',
  ],
  [
    'a newer table that a table of this release inherits from, which exposes its rows',
    /^rls_forced: everything: /,
    'create table everything (name text not null); grant select on everything to bailiwick_api; alter table everything owner to bailiwick_owner; alter table roles inherit everything',
  ],
  [
    'a newer table that inherits from a table of this release',
    /^rls_forced: heir: /,
    'set role bailiwick_owner; create table heir () inherits (roles); reset role',
  ],
  [
    'a table that inherits from the list of migrations and that the API can write',
    /^rls_forced: forged: /,
    'set role bailiwick_owner; create table forged () inherits (schema_migrations); grant insert on forged to bailiwick_api; reset role',
  ],
  [
    'a foreign key of a newer table that reveals the ids of all tenants',
    /^foreign_key: orders\.told: /,
    'alter table mails add unique (id); alter table orders add mail_id uuid, add constraint told foreign key (mail_id) references mails (id)',
  ],
  [
    'a newer table that PUBLIC can read',
    /^table_grant: orders: select is granted to PUBLIC/,
    'grant select on orders to public',
  ],
  [
    'a newer table that a run-time role owns',
    /^owner: orders: belongs to bailiwick_api/,
    'alter table orders owner to bailiwick_api',
  ],
  [
    'a view of a newer table',
    /^relation_kind: public\.seen: .*security_invoker/,
    'set role bailiwick_owner; create view seen as select * from orders; reset role',
  ],
  [
    'a second policy in the form',
    /^policy: roles: has a second/,
    `create policy twin on roles for all to bailiwick_api using (tenant_id = ${scope}) with check (tenant_id = ${scope})`,
  ],
]

for (const [title, named, sql] of behindIt)
  t.test(`a newer schema hides no fault: ${title}`, async (t) => {
    const lines = faultsIn(await found(newerRelease, sql))
    t.ok(
      lines.some((line) => named.test(line)),
      lines.join('\n'),
    )
  })

t.test('a table that inherits from the list of migrations does not make the schema newer', async (t) => {
  const inspections = await found(
    "create table forged () inherits (schema_migrations); insert into forged values ('9999-forged.sql', 'x', now()); grant select on forged to bailiwick_api",
  )
  t.notOk(inspections.some(({ check }) => check === 'newer_schema'))
})

t.test('a list of migrations that is earlier in the search path is not read', async (t) => {
  const inspections = await found(
    "create schema bailiwick_api; create table bailiwick_api.schema_migrations as select '9999-forged.sql' as name, 'x' as checksum; grant usage on schema bailiwick_api to bailiwick_api; grant select on bailiwick_api.schema_migrations to bailiwick_api",
  )
  t.notOk(inspections.some(({ check }) => check === 'newer_schema'))
})

t.test('the start and doctor name the skipped tables, and a new membership is still a fault', async (t) => {
  t.equal(await assertDatabaseIsSound(urls, { DATABASE_DISTRIBUTED: false }), undefined)
  await superuser.query(newerRelease)
  const config = readConfig({
    NODE_ENV: 'test',
    DATABASE_API_URL: urls.api,
    DATABASE_SYSTEM_URL: urls.system,
    DATABASE_WORKER_URL: urls.worker,
  })
  const { ok, findings } = await examine(config)
  t.ok(ok)
  const said = /^✓ The schema is newer than this release \(9998-orders\.sql\): 2 tables not checked/m
  t.match(findings.map(lineOf).join('\n'), said)
  t.match(await assertDatabaseIsSound(urls, { DATABASE_DISTRIBUTED: false }), 'The schema is newer')
  const role = `bailiwick_test_${randomBytes(6).toString('hex')}`
  await superuser.query(
    `create role ${role} login password 'only-for-tests' in role bailiwick_api, bailiwick_worker`,
  )
  const url = new URL(urls.api)
  url.username = role
  const faults = await checkIsolation({ ...urls, api: url.href })
  await superuser.query(`drop role ${role}`)
  t.match(faults, [{ check: 'login', detail: 'is a member of bailiwick_worker' }])
})
