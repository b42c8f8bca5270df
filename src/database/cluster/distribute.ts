import pg from 'pg'
import { beginAsOwner, withMigrationLock } from '../migrate/migrate.ts'
import { anchor, listPlaces, misplaced, referenceTables, stateOf, type TablePlace } from './distribution.ts'

interface ForeignKey {
  relation: string
  name: string
  definition: string
}

/**
 * Distributes the tables of a migrated database on a Citus coordinator, in one transaction: all of them or none. Gives the
 * tables that it moved; an empty list means that all were in place. `url` is that of the owner or of a superuser.
 */
export function distribute(url: string, onStep: (line: string) => void): Promise<string[]> {
  return changePlacement(url, async (client) => {
    await addMissing(client)
    // From here on, locks of tables: a repeated run, which may meet a running service, takes none.
    await readByPerson(client)
    await stopForcing(client)
    const moved = await move(client, onStep)
    const places = await listPlaces(client)
    if (stateOf(places) !== 'distributed')
      throw new Error(`${describe(misplaced(places))}. Nothing was changed.`)
    return moved
  })
}

/** Runs `work` as the owner of the tables, in one transaction. No migration and no other `distribute` runs meanwhile. */
export const changePlacement = <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> =>
  withMigrationLock(
    url,
    async (client) => {
      await client.query('set client_min_messages = warning')
      await beginAsOwner(client)
      await client.query("set local lock_timeout = '10s'")
      const result = await work(client)
      await client.query('commit')
      return result
    },
    'bailiwick-distribute',
  )

/** Adds rows that a database has from before their tables, or that are lost. */
async function addMissing(client: pg.Client): Promise<void> {
  await client.query(
    'insert into tenant_revisions (tenant_id) select id from tenants on conflict (tenant_id) do nothing',
  )
  await client.query(`
    insert into person_memberships (tenant_id, user_id)
      select tenant_id, user_id from memberships where user_id is not null on conflict do nothing`)
}

/**
 * Ends FORCE ROW LEVEL SECURITY of the tables that Citus moves, which it cannot replicate to another node otherwise. Also COPY needs
 * that. Nothing becomes visible: FORCE is about the owner of a table only, and `owner_all` shows the owner all rows.
 */
async function stopForcing(client: pg.Client): Promise<void> {
  const placed = (await listPlaces(client)).filter(({ wanted }) => wanted !== 'coordinator')
  const { rows } = await client.query<{ name: string }>(
    `select relname::text as name from pg_class
     where relforcerowsecurity and relnamespace = 'public'::regnamespace and relname = any($1) order by 1`,
    [placed.map(({ table }) => table)],
  )
  for (const { name } of rows) await client.query(`alter table ${name} no force row level security`)
}

/**
 * Lets `memberships_of` ask only the nodes of a person's tenants, one after the other. A condition with a value on each
 * table is what leads Citus to a node: it derives none from a join with a list of tenants.
 */
export async function readByPerson(client: Pick<pg.Client, 'query'>): Promise<void> {
  await client.query(`
    create or replace function memberships_of(person uuid)
      returns table (tenant_id uuid, membership_id uuid, status text, joined_at timestamptz, last_entered_at timestamptz,
                     sessions_ended_at timestamptz, roles text[], is_owner boolean, member_count bigint)
      language plpgsql stable rows 5
    as $$
    declare place uuid;
    begin
      for place in select p.tenant_id from public.person_memberships p where p.user_id = person loop
        return query
          select m.tenant_id, m.id, m.status, m.joined_at, m.last_entered_at, m.sessions_ended_at, r.roles, r.is_owner,
                 coalesce((select c.rows from public.row_counts c where c.tenant_id = place and c.relation = 'memberships'), 0)
          from public.memberships m
          cross join lateral (
            select coalesce(array_agg(r.name order by r.created_at, r.id), '{}') as roles,
                   coalesce(bool_or(r.is_system and r.name = 'owner'), false) as is_owner
            from public.membership_roles mr join public.roles r on r.tenant_id = place and r.id = mr.role_id
            where mr.tenant_id = place and mr.membership_id = m.id) r
          where m.tenant_id = place and m.user_id = person;
      end loop;
    end $$`)
}

/** Tables with their places, in words. */
export const describe = (places: readonly TablePlace[]): string =>
  places
    .map(({ table, wanted, actual }) => `${table} should be ${inWords(wanted)} and is ${inWords(actual)}`)
    .join('; ')

const inWords = (place: TablePlace['actual']) =>
  place === 'reference' ? 'on every node' : place === 'coordinator' ? 'on the coordinator' : place

async function move(client: pg.Client, onStep: (line: string) => void): Promise<string[]> {
  const wrong = misplaced(await listPlaces(client))
  if (wrong.length === 0) return []
  const keys = await dropForeignKeys(client)
  // The anchor first, because the others join its group.
  const inOrder = wrong.toSorted((a, b) => rank(a) - rank(b))
  for (const { table, wanted } of inOrder) {
    onStep(`${table}: ${inWords(wanted)}`)
    await client.query(statementFor(table, wanted)).catch((cause) => {
      throw new Error(`${table} could not be distributed, and nothing was changed`, { cause })
    })
  }
  onStep(`${keys.length} foreign keys`)
  for (const { relation, name, definition } of keys)
    await client.query(`alter table ${relation} add constraint ${name} ${definition}`)
  return inOrder.map(({ table }) => table)
}

const rank = ({ table }: TablePlace) => (referenceTables.includes(table) ? 0 : table === anchor ? 1 : 2)

function statementFor(table: string, wanted: TablePlace['wanted']): string {
  const name = pg.escapeLiteral(`public.${table}`)
  if (wanted === 'reference') return `select create_reference_table(${name})`
  if (wanted === 'coordinator') return `select undistribute_table(${name})`
  const group = table === anchor ? "'none'" : `'public.${anchor}'`
  return `select create_distributed_table(${name}, 'tenant_id', colocate_with => ${group})`
}

/**
 * Drops all foreign keys and gives them. Citus distributes a table only while no key leads to or from one that is not
 * distributed yet.
 */
async function dropForeignKeys(client: pg.Client): Promise<ForeignKey[]> {
  const { rows } = await client.query<ForeignKey>(`
    select conrelid::regclass::text as relation, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace and conparentid = 0 order by 1, 2`)
  for (const { relation, name } of rows) await client.query(`alter table ${relation} drop constraint ${name}`)
  return rows
}
