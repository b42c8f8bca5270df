import pg from 'pg'
import { exemptTables } from '../isolation/isolation-policies.ts'
import { readBaseline } from '../migrate/ledger.ts'
import { changePlacement } from './distribute.ts'
import { listPlaces } from './distribution.ts'

/**
 * Undoes `distribute` in one transaction: the tables come back to the coordinator, with the schema that the migrations make on
 * one Postgres. Without Citus, so on a restored dump of a coordinator, it mends the schema only. Gives the tables that it moved.
 * `url` is that of the owner or of a superuser.
 */
export function undistribute(url: string, onStep: (line: string) => void): Promise<string[]> {
  return changePlacement(url, async (client) => {
    const moved = await moveBack(client, onStep)
    onStep('the schema of one Postgres')
    await restoreSchema(client)
    return moved
  })
}

/** Citus moves a table together with all that foreign keys connect to it, and keeps the keys. */
async function moveBack(client: pg.Client, onStep: (line: string) => void): Promise<string[]> {
  const spread = await listSpread(client)
  if (spread.length === 0) return []
  const { rows: comments } = await client.query<{ statement: string }>(commentStatements)
  for (const table of spread) {
    if (!(await listSpread(client)).includes(table)) continue
    onStep(`${table}, and what is connected to it: on the coordinator`)
    await client
      .query(
        `select undistribute_table(${pg.escapeLiteral(`public.${table}`)}, cascade_via_foreign_keys => true)`,
      )
      .catch((cause) => {
        throw new Error(`${table} could not be moved back, and nothing was changed`, { cause })
      })
  }
  for (const { statement } of comments) await client.query(statement)
  return spread
}

/** Statements that say all comments on tables and columns again: Citus makes a new table, without them. */
const commentStatements = `
  select format('comment on %s %s is %L', kind, name, text) as statement from (
    select case objsubid when 0 then 'table' else 'column' end as kind,
      concat_ws('.', c.oid::regclass::text, quote_ident(attname)) as name, description as text
    from pg_description join pg_class c on c.oid = objoid and classoid = 'pg_class'::regclass and relkind in ('r', 'p')
    left join pg_attribute on attrelid = c.oid and attnum = objsubid and objsubid > 0
    where relnamespace = 'public'::regnamespace) as said`

async function listSpread(client: pg.Client): Promise<string[]> {
  const places = await listPlaces(client)
  return places.filter(({ actual }) => actual !== 'coordinator').map(({ table }) => table)
}

/** Takes back what `distribute` changed in the schema, and counts its policy changes where one Postgres does. */
async function restoreSchema(client: pg.Client): Promise<void> {
  await client.query(await membershipsOf())
  await client.query(`
    update tenants t set policy_revision = policy_revision + v.policy_changes
      from tenant_revisions v where v.tenant_id = t.id and v.policy_changes > 0;
    delete from tenant_revisions`)
  const tables = (await listPlaces(client)).filter(({ table }) => !(table in exemptTables))
  for (const { table } of tables)
    await client.query(`alter table public.${pg.escapeIdentifier(table)} force row level security`)
}

/** The statement of the schema that creates `memberships_of`, as a replacement. */
async function membershipsOf(): Promise<string> {
  const { text } = await readBaseline()
  const [created] = text.match(/create function memberships_of.*?as \$\$.*?\$\$;/s)!
  return created.replace('create function', 'create or replace function')
}
