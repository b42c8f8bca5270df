import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { listPlaces, stateOf } from '../../src/database/cluster/distribution.ts'
import { checkIsolation } from '../../src/database/isolation/isolation.ts'
import { findCitus, startCitusCluster } from '../../tools/tests/citus-cluster.ts'
import { callCli } from '../cli/run-cli.ts'
import { query, withClient } from '../helpers/query.ts'
import { runTool } from '../upgrade/installed-postgres.ts'

// npm run cli -- distribute, on a coordinator and two nodes of its own.

const programs = await findCitus(process.env.CITUS_BIN)

t.test('a migrated database becomes a distributed one, as a whole or not at all', async (t) => {
  if (!programs) return t.pass('Citus is not installed here, so nothing was tried')
  const cluster = await startCitusCluster(programs, 3)
  t.teardown(() => cluster.remove())
  const inDatabase = (url: string) => Object.assign(new URL(url), { pathname: '/bailiwick' }).href
  const nodes = cluster.superuserUrls.map(inDatabase)
  for (const url of cluster.superuserUrls) await query(url, 'create database bailiwick')
  const [coordinator, first, second] = nodes as [string, string, string]
  const env = {
    NODE_ENV: 'test',
    SECRET_KEYS: 'A'.repeat(43),
    DATABASE_URL: coordinator,
    ...runtimeUrls(coordinator),
  }
  const distribute = (...args: string[]) => callCli(['distribute', ...args], { env })
  const refused = async (said: RegExp, about: string) => {
    t.match(await distribute(), { code: 1, said }, about)
    t.equal(
      await withClient(coordinator, async (client) => stateOf(await listPlaces(client))),
      'undistributed',
    )
  }

  t.match(await distribute(), { code: 1, said: /^This database has no Citus\. Install Citus 13\.0 or later/ })
  for (const url of nodes) await query(url, 'create extension citus')
  t.match(await distribute(), { code: 1, said: /^Citus has no nodes for data/ })
  const { port } = new URL(coordinator)
  await query(coordinator, `select citus_set_coordinator_host('127.0.0.1', ${port})`)
  for (const url of [first, second])
    await query(coordinator, `select citus_add_node('127.0.0.1', ${new URL(url).port})`)
  t.match(await callCli(['distribute'], { env: { ...env, DATABASE_URL: first } }), {
    code: 1,
    said: /^DATABASE_URL leads to a worker of Citus/,
  })
  t.match(await distribute(), {
    code: 1,
    said: /^Run npm run cli -- migrate first\. Missing: 0100-baseline, /,
  })

  t.match(await callCli(['migrate'], { env }), { code: 0 }, 'migrate works before')
  t.match(await distribute('--check'), {
    code: 1,
    out: /^api_keys should be by tenant_id and is on the coordinator$/m,
  })

  const alone = (statement: string) => query(second, 'set citus.enable_ddl_propagation = off', statement)
  await alone('alter role bailiwick_worker nologin')
  const { port: last } = new URL(second)
  await refused(
    new RegExp(
      `^The coordinator cannot reach 127\\.0\\.0\\.1:${last} as bailiwick_worker, .* Let the role log in`,
      's',
    ),
    'a role that cannot log in on a node',
  )
  await alone('alter role bailiwick_worker login')

  await cluster.control(cluster.superuserUrls[1]!, 'stop', '-m', 'immediate')
  await refused(
    /^The coordinator cannot reach .* as bailiwick_owner, .* Start the node/s,
    'a node that is away',
  )
  await cluster.control(cluster.superuserUrls[1]!, 'start')

  await query(coordinator, "alter database bailiwick set citus.propagate_set_commands = 'none'")
  await refused(
    /^Nodes would not learn the tenant .* set citus\.propagate_set_commands = 'local'$/m,
    'a setting',
  )
  await query(coordinator, 'alter database bailiwick reset citus.propagate_set_commands')

  await withClient(env.DATABASE_API_URL, () =>
    refused(/^Stop the API and the workers first: they have 1 connections/, 'a process that is connected'),
  )

  await query(coordinator, "select create_reference_table('mail_senders')")
  t.match(
    await distribute(),
    { code: 1, said: /nothing was changed: mail_senders should be on the coordinator and is on every node/ },
    'a table that was distributed in another way',
  )
  await query(coordinator, "select undistribute_table('mail_senders')")

  const before = await schemaOf(coordinator)
  const [tenantId, other] = [randomUUID(), randomUUID()]
  for (const id of [tenantId, other])
    await query(
      coordinator,
      `insert into tenants (id, name, slug, created_at, updated_at) values ('${id}', 'x', '${id}', now(), now())`,
      `insert into departments (tenant_id, id, name, created_at, updated_at) values ('${id}', gen_random_uuid(), 'x', now(), now())`,
    )
  const moved = await distribute('--json')
  t.equal(moved.code, 0, moved.said)
  t.ok(moved.json().moved.length >= 28, `${moved.json().moved.length} tables`)
  t.match(
    await distribute(),
    { code: 0, out: /^\d+ tables are spread by tenant_id over 127/ },
    'again: nothing to do',
  )
  t.match(await distribute('--check'), { code: 0 })
  t.match(await callCli(['migrate'], { env }), { code: 0, out: 'Up to date\n' }, 'migrate works after')
  t.match(
    (await callCli(['doctor'], { env: { ...env, DATABASE_DISTRIBUTED: 'true' } })).out,
    /^✓ The tables of tenants are spread over 2 nodes, and all of them answer$/m,
  )
  t.match((await callCli(['doctor'], { env })).out, /^✗ DATABASE_DISTRIBUTED is false/m)
  t.match(await callCli(['tenants:list'], { env }), { code: 1, said: /Set DATABASE_DISTRIBUTED=true/ })

  const seen = await withClient(env.DATABASE_API_URL, async (client) => {
    await client.query('begin')
    await client.query(`set local app.tenant_id = '${tenantId}'`)
    return (await client.query('select tenant_id from departments')).rows
  })
  t.same(seen, [{ tenant_id: tenantId }], 'a scope sees its rows, without a condition in the statement')
  const [shard] = await query(
    coordinator,
    `select nodeport, shard_name as name from citus_shards where table_name = 'departments'::regclass
       and shardid = get_shard_id_for_distribution_column('departments', '${tenantId}'::uuid)`,
  )
  const onNode = Object.assign(new URL(env.DATABASE_API_URL), { port: String(shard!.nodeport) }).href
  t.same(
    await query(
      String(nodes.find((url) => url.includes(`:${shard!.nodeport}/`))),
      'set citus.override_table_visibility = off',
      `select count(*)::int from pg_class where relname ~ '_\\d{6}$' and relkind = 'r' and not relrowsecurity`,
    ),
    [{ count: 0 }],
    'the tables of a node have row-level security, too',
  )
  t.same(await query(onNode, `select * from ${shard!.name}`), [], 'a node shows nothing without a scope')

  await query(
    coordinator,
    'set role bailiwick_owner',
    'create table notes (tenant_id uuid not null references tenants (id), id uuid not null, author uuid, primary key (tenant_id, id))',
    "select distribute_by_tenant('notes')",
    'alter table notes add foreign key (tenant_id, author) references memberships (tenant_id, id)',
    `insert into notes values ('${tenantId}', gen_random_uuid())`,
  )
  t.match(await distribute('--check'), { code: 0 }, 'a later migration adds a table')

  await query(coordinator, 'drop table notes')
  await query(coordinator, `update tenant_revisions set policy_changes = 4 where tenant_id = '${tenantId}'`)
  await query(coordinator, 'create database restored')
  const restored = Object.assign(new URL(coordinator), { pathname: '/restored' }).href
  const dump = join(t.testdir(), 'coordinator.dump')
  const dumping = ['--format=custom', '--extension=plpgsql', `--file=${dump}`, coordinator]
  t.match(await runTool(programs, 'pg_dump', ...dumping), { code: 0 })
  t.match(await runTool(programs, 'pg_restore', '--exit-on-error', `--dbname=${restored}`, dump), { code: 0 })
  const mended = await callCli(['distribute', '--undo'], { env: { ...env, DATABASE_URL: restored } })
  t.equal(mended.code, 0, mended.said)
  t.same(await schemaOf(restored), before, 'a dump of the coordinator becomes one Postgres without Citus')
  t.same(await query(restored, 'select count(*)::int from departments'), [{ count: 2 }], 'with all rows')

  t.match(await distribute('--check', '--undo'), { code: 2, said: /Choose --check or --undo/ })
  const undone = await distribute('--undo', '--json')
  t.equal(undone.code, 0, undone.said)
  t.same(undone.json().moved.length, moved.json().moved.length, 'undo moves all tables back')
  t.same(await schemaOf(coordinator), before, 'the schema is that of one Postgres')
  t.same(
    await query(coordinator, `select policy_revision::int from tenants where id = '${tenantId}'`),
    [{ policy_revision: 5 }],
    'the changes of policies that the node counted',
  )
  t.same(await query(coordinator, 'select from tenant_revisions'), [])
  t.same(await query(coordinator, 'select count(*)::int from departments'), [{ count: 2 }], 'all rows')
  const { api, system, worker } = {
    api: env.DATABASE_API_URL,
    system: env.DATABASE_SYSTEM_URL,
    worker: env.DATABASE_WORKER_URL,
  }
  t.same(await checkIsolation({ api, system, worker }), [], 'the isolation check has no fault')
  t.notMatch((await callCli(['doctor'], { env })).out, /^✗ .*(DATABASE_DISTRIBUTED|solat|polic)/m)
  t.match(await distribute(), { code: 0 }, 'and distributes again')
})

/** What the migrations made, without comments, which Citus forgets, its own views, and NOT VALID: it checks what it copies. */
const schemaOf = (url: string) =>
  query(
    url,
    'set search_path = pg_catalog',
    `select 'table' as kind, relname as name, concat(relrowsecurity, relforcerowsecurity, relacl, relowner::regrole) as is
       from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'S', 'i')
         and relname !~ '^citus_'
     union all select 'column', format('%s.%s', attrelid::regclass, attname), concat(format_type(atttypid, atttypmod), attnotnull,
         attgenerated, attidentity, attacl, pg_get_expr(d.adbin, d.adrelid))
       from pg_attribute join pg_class c on c.oid = attrelid and relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
       left join pg_attrdef d on d.adrelid = attrelid and d.adnum = attnum where attnum > 0 and not attisdropped
     union all select 'policy', format('%s %s', polrelid::regclass, polname), concat(polcmd, polroles::regrole[],
         pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)) from pg_policy
     union all select 'constraint', format('%s %s', conrelid::regclass, conname), replace(pg_get_constraintdef(oid), ' NOT VALID', '')
       from pg_constraint where connamespace = 'public'::regnamespace
     union all select 'index', indexrelid::regclass::text, pg_get_indexdef(indexrelid)
       from pg_index join pg_class c on c.oid = indexrelid and relnamespace = 'public'::regnamespace
     union all select 'function', p.oid::regprocedure::text, concat(pg_get_functiondef(p.oid), proacl)
       from pg_proc p where pronamespace = 'public'::regnamespace and prokind = 'f'
         and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = p.oid and deptype = 'e')
     order by 1, 2`,
  )

function runtimeUrls(url: string) {
  const at = (name: string) =>
    Object.assign(new URL(url), { username: `bailiwick_${name}`, password: 'only-for-tests' }).href
  return { DATABASE_API_URL: at('api'), DATABASE_SYSTEM_URL: at('system'), DATABASE_WORKER_URL: at('worker') }
}
