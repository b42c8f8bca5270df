import { readFile, writeFile } from 'node:fs/promises'
import pg from 'pg'
import t from 'tap'
import { disposableDatabase } from '../helpers/database.ts'

// Policies let the roles bailiwick_system and bailiwick_worker see all tenants, so their grants are their limit.
// grants.md lists the grants, so that a review shows every change. UPDATE_GRANTS=1 rewrites it.

const file = new URL('grants.md', import.meta.url)
const { urls, drop } = await disposableDatabase()
const client = new pg.Client({ connectionString: urls.api })
await client.connect()
t.teardown(async () => {
  await client.end()
  await drop()
})

const query = `
  with granted as (
      select oid as relation, null::name as attname, 0 as attnum, relacl as acl from pg_class where relnamespace = 'public'::regnamespace
      union all select attrelid, attname, attnum, attacl from pg_attribute join pg_class c on c.oid = attrelid
        where relnamespace = 'public'::regnamespace and attacl is not null),
    privileges as (
      select relation, grantee, lower(privilege_type) as privilege,
        lower(privilege_type) || coalesce(' (' || string_agg(attname, ', ' order by attnum) || ')', '') as line
      from granted, aclexplode(acl) group by relation, grantee, privilege_type, attname is null)
  select relation::regclass::text as name, substr(grantee::regrole::text, 11) as role,
    string_agg(line, ', ' order by array_position('{select,insert,update,delete}', privilege), line) as may
  from privileges where grantee::regrole::text in ('bailiwick_api', 'bailiwick_system', 'bailiwick_worker')
  group by 1, 2 order by 1, 2`

t.test('the run-time roles have the grants that grants.md lists', async (t) => {
  const { rows } = await client.query<{ name: string; role: string; may: string }>(query)
  const lines = rows.map(({ name, role, may }) => `| ${name} | ${role} | ${may} |`)
  const now = ['| Table | Role | May |', '|---|---|---|', ...lines, ''].join('\n')
  if (process.env.UPDATE_GRANTS) await writeFile(file, now)
  t.equal(now, await readFile(file, 'utf8'), 'UPDATE_GRANTS=1 rewrites grants.md')
})
