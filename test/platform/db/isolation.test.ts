import { randomBytes } from 'node:crypto'
import pg from 'pg'
import t from 'tap'
import { checkIsolation, inspectCatalogue, inspectIsolation } from '../../../src/platform/db/isolation.ts'
import { catalogueChecks } from '../../../src/platform/db/isolation-catalogue.ts'
import { disposableDatabase } from '../../helpers/database.ts'

const { urls, drop } = await disposableDatabase()
const superuser = new pg.Client({ connectionString: urls.superuser })
await superuser.connect()
t.teardown(async () => {
  await superuser.end()
  await drop()
})

const scope = "(select nullif(current_setting('app.tenant_id', true), '')::uuid)"

/** What is done to the database, the check that has to notice, and what it has to name. */
const mutations: [title: string, check: string, named: RegExp, sql: string][] = [
  [
    'row-level security off',
    'rls_forced',
    /^roles: .*not enabled/,
    'alter table roles disable row level security',
  ],
  ['not forced', 'rls_forced', /^users: .*not forced/, 'alter table users no force row level security'],
  [
    'a new table without it',
    'rls_forced',
    /^notes: .*not enabled/,
    'set role bailiwick_owner; create table notes (tenant_id uuid not null, id uuid, primary key (tenant_id, id)); reset role',
  ],
  [
    'a new table without a policy',
    'rls_forced',
    /^notes: has no policy/,
    'set role bailiwick_owner; create table notes (tenant_id uuid not null, id uuid, primary key (tenant_id, id)); alter table notes enable row level security, force row level security; reset role',
  ],
  [
    'a partition that can be read by itself',
    'rls_forced',
    /^notes_all: /,
    'set role bailiwick_owner; create table notes (tenant_id uuid not null primary key) partition by hash (tenant_id); create table notes_all partition of notes for values with (modulus 1, remainder 0); reset role',
  ],
  [
    'the policy of the API dropped',
    'granted_table',
    /^roles for bailiwick_api: /,
    'drop policy tenant_isolation on roles',
  ],
  [
    'the policy of the owner dropped',
    'policy',
    /^roles: lacks .*owner_all/,
    'drop policy owner_all on roles',
  ],
  [
    'a frozen policy dropped',
    'policy',
    /^sessions: lacks .*system_all/,
    'drop policy system_all on sessions',
  ],
  [
    'a looser with check',
    'policy',
    /^roles: .*check true/,
    'alter policy tenant_isolation on roles with check (true)',
  ],
  [
    'or true',
    'policy',
    /^roles: .* OR true/,
    `alter policy tenant_isolation on roles using (tenant_id = ${scope} or true)`,
  ],
  [
    'an or for administrators',
    'policy',
    /^roles: .*app\.admin/,
    `alter policy tenant_isolation on roles using (tenant_id = ${scope} or current_setting('app.admin', true) = 'on')`,
  ],
  [
    'a setting that callers may name',
    'policy',
    /^roles: .*app\.tenant'/,
    `alter policy tenant_isolation on roles using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))`,
  ],
  [
    'the user form on a table of a tenant',
    'policy',
    /^memberships: .*app\.user_id/,
    `drop policy tenant_isolation on memberships; create policy tenant_isolation on memberships for all to bailiwick_api using (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid)) with check (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid))`,
  ],
  [
    'the tenant form on a table of people',
    'policy',
    /^sessions: .*app\.tenant_id/,
    `alter policy own_rows on sessions using (tenant_id = ${scope}) with check (tenant_id = ${scope})`,
  ],
  [
    'a second permissive policy',
    'policy',
    /^roles: .*more: select/,
    'create policy more on roles for select to bailiwick_api using (is_system)',
  ],
  [
    'a second policy in the form',
    'policy',
    /^roles: has a second/,
    `create policy twin on roles for all to bailiwick_api using (tenant_id = ${scope}) with check (tenant_id = ${scope})`,
  ],
  ['a policy for everybody', 'policy', /^roles: .*to everybody/, 'create policy more on roles using (true)'],
  [
    'a policy for two roles',
    'policy',
    /^roles: .*to bailiwick_\w+, bailiwick_/,
    'alter policy system_reads on roles to bailiwick_system, bailiwick_api',
  ],
  [
    'a wider command for the system role',
    'policy',
    /^roles: .*system_reads: all/,
    'drop policy system_reads on roles; create policy system_reads on roles for all to bailiwick_system using (true) with check (true)',
  ],
  [
    'a policy of the worker that nobody froze',
    'policy',
    /^departments: .*worker_all/,
    'create policy worker_all on departments for all to bailiwick_worker using (true)',
  ],
  [
    'a table of the same name in another schema',
    'policy',
    /^users: .*elsewhere\.memberships/,
    `create schema elsewhere; create table elsewhere.memberships (user_id uuid, tenant_id uuid); drop policy fellow_members on users; create policy fellow_members on users for select to bailiwick_api using (id in (select m.user_id from elsewhere.memberships m where m.tenant_id = ${scope}))`,
  ],
  [
    'a table in another schema',
    'relation_kind',
    /^elsewhere\.notes: /,
    'create schema elsewhere; create table elsewhere.notes (tenant_id uuid)',
  ],
  [
    'a view of its owner',
    'relation_kind',
    /^public\.names: .*security_invoker/,
    'set role bailiwick_owner; create view names as select name from roles; reset role',
  ],
  [
    'a view that turns security_invoker off',
    'relation_kind',
    /^public\.names: .*security_invoker/,
    'set role bailiwick_owner; create view names with (security_invoker = false) as select name from roles; reset role',
  ],
  [
    'a materialised view',
    'relation_kind',
    /^public\.names: .*materialised/,
    'create materialized view names as select name from roles',
  ],
  [
    'a view of the superuser',
    'owner',
    /^names: belongs to postgres/,
    'create view names with (security_invoker) as select name from roles',
  ],
  [
    'a table of another owner',
    'owner',
    /^roles: belongs to bailiwick_api/,
    'alter table roles owner to bailiwick_api',
  ],
  [
    'a rewrite rule',
    'rewrite_rule',
    /roles: has the rule copy/,
    'create rule copy as on insert to roles do also select * from tenants',
  ],
  [
    'a security definer function',
    'definer_function',
    /all_names/,
    "create function all_names() returns setof text language sql security definer as 'select name from roles'",
  ],
  [
    'a trigger function that became definer',
    'definer_function',
    /count_inserted_rows/,
    'alter function count_inserted_rows() security definer',
  ],
  [
    'a tenant_id that may be null',
    'tenant_column',
    /^roles: /,
    'alter table membership_roles drop constraint membership_roles_tenant_id_role_id_fkey; alter table roles drop constraint roles_pkey, alter tenant_id drop not null',
  ],
  [
    'a primary key without tenant_id',
    'primary_key',
    /^mails: /,
    'alter table mails drop constraint mails_pkey, add primary key (id, tenant_id)',
  ],
  ['no primary key', 'primary_key', /^mails: has no/, 'alter table mails drop constraint mails_pkey'],
  [
    'a unique key over all tenants',
    'unique_key',
    /^roles_by_name: .*roles/,
    'create unique index roles_by_name on roles (name_key)',
  ],
  [
    'a unique expression over all tenants',
    'unique_key',
    /^departments_by_name: /,
    'create unique index departments_by_name on departments (lower(name))',
  ],
  [
    'a foreign key without the tenant',
    'foreign_key',
    /^membership_roles\.loose: .*mails/,
    'alter table mails add unique (id); alter table membership_roles add constraint loose foreign key (role_id) references mails (id)',
  ],
  [
    'a foreign key that crosses the tenant with another column',
    'foreign_key',
    /^departments\.crossed: /,
    'alter table departments add constraint crossed foreign key (parent_id, tenant_id) references departments (tenant_id, id)',
  ],
  [
    'truncate granted',
    'table_grant',
    /^roles: bailiwick_api may truncate/,
    'grant truncate on roles to bailiwick_api',
  ],
  [
    'references granted',
    'table_grant',
    /^roles: bailiwick_system may references/,
    'grant references on roles to bailiwick_system',
  ],
  [
    'trigger granted',
    'table_grant',
    /^roles: bailiwick_worker may trigger/,
    'grant trigger on roles to bailiwick_worker',
  ],
  [
    'a grant to everybody',
    'table_grant',
    /^roles: select is granted to everybody/,
    'grant select on roles to public',
  ],
  [
    'a column granted to everybody',
    'table_grant',
    /^roles\.name: select is granted to everybody/,
    'grant select (name) on roles to public',
  ],
  [
    'a grant that can be passed on',
    'table_grant',
    /^roles: bailiwick_api may grant select/,
    'grant select on roles to bailiwick_api with grant option',
  ],
  [
    'tables made by the API',
    'schema_grant',
    /^bailiwick_api on public: may create/,
    'grant create on schema public to bailiwick_api',
  ],
  [
    'tables made by anybody',
    'schema_grant',
    /^bailiwick_worker on public: may create/,
    'grant create on schema public to public',
  ],
  [
    'the queues opened to the API',
    'schema_grant',
    /^bailiwick_api on bullmq: may use/,
    'grant usage on schema bullmq to bailiwick_api',
  ],
  [
    'jobs readable by the API',
    'queue_grant',
    /^bullmq\.job: bailiwick_api may read/,
    'grant select (data) on bullmq.job to bailiwick_api',
  ],
  [
    'grants in advance',
    'default_grant',
    /^public: select is granted to bailiwick_api/,
    'alter default privileges for role bailiwick_owner in schema public grant select on tables to bailiwick_api',
  ],
  [
    'password hashes readable by the API',
    'secret_column',
    /^users\.password_hash: bailiwick_api may read/,
    'grant select (password_hash) on users to bailiwick_api',
  ],
  [
    'users readable as a whole',
    'secret_column',
    /^users\.password_hash: bailiwick_worker may read/,
    'grant select on users to bailiwick_worker',
  ],
  [
    'a new secret that is readable',
    'secret_column',
    /^roles\.key_sealed: bailiwick_api, bailiwick_system may read/,
    'alter table roles add key_sealed bytea',
  ],
  [
    'a count trigger dropped',
    'count_trigger',
    /^roles: count_deleted/,
    'drop trigger count_deleted on roles',
  ],
  [
    'a count trigger turned off',
    'count_trigger',
    /^roles: count_inserted/,
    'alter table roles disable trigger count_inserted',
  ],
]

t.test('a migrated database has no fault', async (t) => {
  const inspections = await inspectIsolation(urls)
  t.same(
    inspections.flatMap((inspection) => inspection.faults),
    [],
  )
  t.equal(inspections.length, 3 + 1 + catalogueChecks.length)
  t.same(await checkIsolation(urls), [])
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

t.test('every check of the catalogue is tried by a mutation', async (t) => {
  const tried = new Set(mutations.map(([, check]) => check))
  t.same(
    ['policy', ...catalogueChecks.map((check) => check.name)].filter((name) => !tried.has(name)),
    [],
  )
})

t.test(
  "what a view or definer function of the operator's extensions does is left to the operator",
  async (t) => {
    const { rows } = await superuser.query(
      "select from pg_available_extensions where name = 'pg_stat_statements'",
    )
    if (rows.length === 0) return t.pass('this Postgres has no such extension')
    await superuser.query('begin')
    await superuser.query('create extension pg_stat_statements')
    const found = (await inspectCatalogue(superuser)).flatMap((inspection) => inspection.faults)
    await superuser.query('rollback')
    t.same(found, [])
  },
)

/** The faults of the API's login alone, where that login is a role of its own: roles are shared by all test files. */
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

t.test('a login of another name is accepted as a member of its role alone', async (t) => {
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

t.test('a login that owns a table, or starts with a tenant, is named', async (t) => {
  const owns = (role: string) =>
    `create table public.of_its_own (); alter table public.of_its_own owner to ${role}`
  t.match(await faultsOfLogin('in role bailiwick_api', owns), ['owns 1 objects'])
  await superuser.query('drop table public.of_its_own')
  const scoped = (role: string) =>
    `alter role ${role} set app.tenant_id = '00000000-0000-0000-0000-000000000001'`
  t.match(await faultsOfLogin('in role bailiwick_api', scoped), [/^starts with a scope/])
})

t.test("the superuser's, the owner's or another role's address in place of the API's is named", async (t) => {
  for (const [url, named] of [
    [urls.superuser, 'has SUPERUSER'],
    [urls.owner, 'is not a member of bailiwick_api'],
    [urls.worker, 'is not a member of bailiwick_api'],
  ] as const) {
    const found = await checkIsolation({ ...urls, api: url })
    t.ok(found.some((fault) => fault.check === 'login' && fault.detail === named))
  }
})
