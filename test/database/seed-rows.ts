import { randomUUID } from 'node:crypto'
import pg from 'pg'

/**
 * A table as the catalogue describes it: its writable columns, and the column by which the API's policy separates rows.
 */
export interface CatalogueTable {
  name: string
  columns: string[]
  types: string[]
  /** Roles that have a policy on it. */
  roles: string[]
  /** The column that the policy of bailiwick_api compares with `setting`; null when that role sees nothing. */
  scopeColumn: string | null
  setting: string | null
}

/** Every table of the schema public that has row-level security. */
export async function catalogueTables(client: pg.Client): Promise<CatalogueTable[]> {
  const { rows } = await client.query<CatalogueTable & { expression: string | null }>(`
    select c.relname::text as name, own.expression,
      (select array_agg(attname::text order by attnum) from pg_attribute a where a.attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns,
      (select array_agg(format_type(atttypid, null) order by attnum) from pg_attribute a where a.attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as types,
      array(select distinct rolname::text from pg_policy p join pg_roles r on r.oid = any (polroles) where polrelid = c.oid) as roles
    from pg_class c left join lateral (
      select pg_get_expr(polqual, polrelid) as expression from pg_policy
      where polrelid = c.oid and polcmd = '*' and 'bailiwick_api'::regrole = any (polroles)) own on true
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relrowsecurity order by name`)
  return rows.map(({ expression, ...table }) => {
    const [, scopeColumn = null, setting = null] = /^\((\w+) = .*'(app\.\w+)'/s.exec(expression ?? '') ?? []
    return { ...table, scopeColumn, setting }
  })
}

/**
 * Inserts one row into every table for one tenant and one user, as superuser, and gives the rows as JSON by table. It
 * drops check constraints and disables foreign keys, because the meaning of the rows does not matter here.
 */
export async function seedRows(
  client: pg.Client,
  tables: CatalogueTable[],
  scope: { tenantId: string; userId: string },
): Promise<Map<string, Record<string, unknown>>> {
  await client.query("set citus.multi_shard_modify_mode = 'sequential'")
  await client.query(`do $$ declare k record; begin
    for k in select c.oid::regclass as relation, conname from pg_constraint join pg_class c on c.oid = conrelid
      where contype = 'c' and connamespace = 'public'::regnamespace and relrowsecurity and relname !~ '_\\d{6}$' -- no shard of Citus
    loop execute format('alter table %s drop constraint %I', k.relation, k.conname); end loop; end $$`)
  await client.query('begin')
  await client.query('set local session_replication_role = replica') // Citus takes this to its nodes
  const seeded = new Map<string, Record<string, unknown>>()
  for (const table of tables) {
    const values = table.columns.map((column, index) =>
      sampleOf(table.name, column, table.types[index]!, scope),
    )
    await client.query(
      `insert into ${table.name} (${table.columns.join(', ')}) values (${values.map((_, n) => `$${n + 1}`).join(', ')})`,
      values,
    )
    // Read afterwards, because Citus takes no function in `returning`.
    const inserted = Object.fromEntries(table.columns.map((column, n) => [column, values[n]]))
    const { rows } = await client.query(
      `select to_jsonb(t) as row from ${table.name} t where ${conditionOn(table, inserted)}`,
    )
    seeded.set(table.name, rows[0].row)
  }
  await client.query('commit')
  return seeded
}

/** The condition that finds a seeded row, by plain comparisons, which Citus takes to its nodes. */
export function conditionOn({ columns, types }: CatalogueTable, row: Record<string, unknown>): string {
  const known = columns.filter((_, n) => comparable.has(types[n]!))
  return known
    .map((column) => {
      const value = row[column]
      const text = Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value)
      return `${column} = ${pg.escapeLiteral(text)}`
    })
    .join(' and ')
}

function sampleOf(
  table: string,
  column: string,
  type: string,
  scope: { tenantId: string; userId: string },
): unknown {
  if (column === 'tenant_id' || (table === 'tenants' && column === 'id')) return scope.tenantId
  if (column === 'user_id' || (table === 'users' && column === 'id')) return scope.userId
  const sample = samples[type]
  if (!sample) throw new Error(`${table}.${column} has the type ${type}, for which there is no sample here`)
  return sample()
}

const comparable = new Set(['uuid', 'text', 'bytea', 'bigint', 'integer', 'smallint'])
const number = () => Math.floor(Math.random() * 30_000)
const samples: Record<string, () => unknown> = {
  bigint: number,
  boolean: () => true,
  bytea: () => Buffer.from(randomUUID()),
  date: () => '2030-01-01',
  'double precision': number,
  inet: () => '192.0.2.1',
  integer: number,
  interval: () => '1 hour',
  jsonb: () => ({ sample: randomUUID() }),
  numeric: number,
  smallint: number,
  text: () => randomUUID(),
  'text[]': () => [randomUUID()],
  'timestamp with time zone': () => new Date(1_900_000_000_000 + number()),
  'timestamp with time zone[]': () => [new Date(1_900_000_000_000)],
  uuid: () => randomUUID(),
  'uuid[]': () => [randomUUID()],
}
