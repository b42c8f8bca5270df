import type pg from 'pg'
import { tablesOfPeople } from '../isolation/isolation-policies.ts'

// Which tables a distributed Postgres (Citus) spreads over its nodes: docs/adr/0012-one-schema-for-citus.md.

/** The oldest Citus on which `distribute` works. */
export const minCitus = '13.0'

/** Every node has a copy of these tables, so that each can check foreign keys to them and join them. */
export const referenceTables = ['tenants', 'users']

/** Tables with a tenant_id that stay on the coordinator, each with its reason. The tables of people do, except one. */
const undistributed: Record<string, string> = {
  connections: 'a sign-in names a connection before its tenant is known',
  domains: 'a domain has one owner among all tenants, and is read before a tenant is known',
  feed_entries: 'the feed over all tenants has one order, so its reads and writes concern all tenants',
  person_memberships: 'says on which nodes the memberships of a person are',
  ...Object.fromEntries(
    Object.keys(tablesOfPeople)
      .filter((name) => name !== 'idempotency_keys')
      .map((name) => [name, 'is read by its person, session or token, before a tenant is known']),
  ),
}

/** Where a table is: on every node, spread by tenant_id, or on the coordinator only; else what is wrong, in words. */
export type Placement = 'reference' | 'by tenant_id' | 'coordinator' | `${string}, which is wrong`

export interface TablePlace {
  table: string
  wanted: Placement
  actual: Placement
}

/** The places of all tables of the schema public, by name. All of them are on the coordinator if there is no Citus. */
export async function listPlaces(client: pg.ClientBase): Promise<TablePlace[]> {
  const { rows } = await client.query<{ table: string; has_tenant: boolean }>(tables)
  const actual = (await hasCitus(client)) ? await actualPlaces(client) : new Map<string, Placement>()
  return rows.map(({ table, has_tenant }) => ({
    table,
    wanted: wantedPlace(table, has_tenant),
    actual: actual.get(table) ?? 'coordinator',
  }))
}

function wantedPlace(table: string, hasTenant: boolean): Placement {
  if (referenceTables.includes(table)) return 'reference'
  return hasTenant && !(table in undistributed) ? 'by tenant_id' : 'coordinator'
}

const tables = `
  select c.relname::text as table, a.attname is not null as has_tenant
  from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')
  order by 1`

/** Whether this database has the extension; its functions and catalogues exist only then. */
async function hasCitus(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query("select from pg_extension where extname = 'citus'")
  return rows.length > 0
}

async function actualPlaces(client: pg.ClientBase): Promise<Map<string, Placement>> {
  const { rows } = await client.query<{
    table: string
    method: string
    model: string
    column: string | null
    group: number
  }>(
    `select c.relname::text as table, partmethod::text as method, repmodel::text as model, colocationid as group,
       case when partkey is not null then column_to_column_name(logicalrelid, partkey) end as column
     from pg_dist_partition join pg_class c on c.oid = logicalrelid where relnamespace = 'public'::regnamespace order by 1`,
  )
  const group = rows.find(({ table }) => table === anchor)?.group
  return new Map(
    rows.map(({ table, method, model, column, group: own }): [string, Placement] => {
      if (method === 'h' && column === 'tenant_id' && own === group) return [table, 'by tenant_id']
      if (method === 'h') return [table, `spread by ${column} in group ${own}, which is wrong`]
      return [table, model === 't' ? 'reference' : 'coordinator']
    }),
  )
}

/** Whether the tables of tenants are spread over nodes, so that policies cannot ask other tables. */
export async function isDistributed(client: pg.ClientBase): Promise<boolean> {
  if (!(await hasCitus(client))) return false
  const { rows } = await client.query(
    `select from pg_dist_partition where logicalrelid = 'public.users'::regclass`,
  )
  return rows.length > 0
}

/** The table with which all distributed ones are co-located: rows of one tenant are on one node. */
export const anchor = 'roles'

/** How far a database is distributed. */
export type State = 'undistributed' | 'distributed' | 'half distributed'

/** `distributed` if every table is where it should be, `undistributed` if all are on the coordinator. */
export function stateOf(places: readonly TablePlace[]): State {
  if (places.every(({ actual }) => actual === 'coordinator')) return 'undistributed'
  return misplaced(places).length === 0 ? 'distributed' : 'half distributed'
}

/** The tables that are not where they should be. */
export const misplaced = (places: readonly TablePlace[]): TablePlace[] =>
  places.filter(({ wanted, actual }) => wanted !== actual)

/** Citus as a coordinator sees it; null without the extension. */
export interface Cluster {
  version: string
  isCoordinator: boolean
  /** Whether `set local` reaches the nodes, and so the scope of a transaction. */
  passesScope: boolean
  /** host:port of the nodes that can have rows of tenants. */
  nodes: string[]
}

/** The cluster of a database, or null if it is an ordinary Postgres. Asks no other node. */
export async function findCluster(client: pg.ClientBase): Promise<Cluster | null> {
  if (!(await hasCitus(client))) return null
  const { rows } = await client.query<Cluster>(`
    select (select extversion from pg_extension where extname = 'citus') as version,
      (select groupid = 0 from pg_dist_local_group) as "isCoordinator",
      current_setting('citus.propagate_set_commands') = 'local' as "passesScope",
      array(select format('%s:%s', nodename, nodeport) from pg_dist_node
            where isactive and shouldhaveshards and noderole = 'primary' order by 1) as nodes`)
  return rows[0]!
}

/** Whether a version such as 13.2-1 is at least {@link minCitus}. */
export function isRecent(version: string): boolean {
  const [have, need] = [version, minCitus].map((text) => text.split(/[.-]/).map(Number))
  return have![0]! !== need![0]! ? have![0]! > need![0]! : have![1]! >= need![1]!
}

/** The nodes on which the login of `client` fails, with what they said. Asks every node. */
export async function listUnreachable(client: pg.ClientBase): Promise<{ node: string; says: string }[]> {
  const { rows } = await client.query<{ node: string; says: string }>(`
    select format('%s:%s', nodename, nodeport) as node, result as says
    from run_command_on_workers('select current_user') where not success order by 1`)
  return rows
}
