import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { tablesIn } from '../../src/database/migrate/newer-schema.ts'

// The text of docs/reference/schema.md, read from a migrated database.

interface Column {
  table: string
  name: string
  type: string
  required: boolean
  isKey: boolean
  meaning: string
}

interface ForeignKey {
  table: string
  columns: string[]
  target: string
  cascades: boolean
}

const titles = {
  database: 'Every context',
  tenancy: 'Tenancy',
  identity: 'Identity',
  authorization: 'Authorization',
  messages: 'Messages',
  events: 'Events',
  installation: 'Installation',
  oauth: 'OpenID Connect',
  federation: 'Other providers',
  directory: 'SCIM',
}
type Context = keyof typeof titles

/** The contexts of tables that migrations made; those of the schema files have that of their file. */
const ofMigrations: Record<string, Context> = {
  schema_migrations: 'installation',
  browser_sessions: 'identity',
  federated_identities: 'identity',
  imported_people: 'identity',
  federation_flows: 'identity',
  former_addresses: 'identity',
  log_counts: 'messages',
  notice_windows: 'messages',
  id_token_keys: 'identity',
  oauth_clients: 'oauth',
  oauth_client_secrets: 'oauth',
  oauth_models: 'oauth',
  oauth_resources: 'oauth',
  oauth_logouts: 'oauth',
  manifest_clients: 'oauth',
  manifest_client_secrets: 'oauth',
  manifest_resources: 'oauth',
  connection_sign_ins: 'federation',
  connections: 'federation',
  domains: 'tenancy',
  directory_users: 'directory',
  directory_groups: 'directory',
  directory_log: 'directory',
  directory_rules: 'directory',
  directory_rule_roles: 'directory',
  directory_group_members: 'directory',
  tenant_logos: 'tenancy',
}

const folder = join(import.meta.dirname, '..', '..', 'src', 'database', 'schema')
const ofFiles = new Map(
  Object.keys(titles)
    .filter((context) => existsSync(join(folder, `${context}.sql`)))
    .flatMap((context) =>
      tablesIn([readFileSync(join(folder, `${context}.sql`), 'utf8')]).map(
        (table) => [table, context] as const,
      ),
    ),
)

/** What a column of this name means in every table, where its own comment says nothing. */
const common: [RegExp, string][] = [
  [/^tenant_id$/, 'The tenant'],
  [/^user_id$/, 'The person'],
  [/^version$/, 'Counts changes, for `If-Match`'],
  [/_key$/, 'For search: lower case, ordered by bytes'],
]

/** The page; `client` is connected to a migrated database. */
export async function schemaPage(client: pg.Client): Promise<string> {
  const { rows: tables } = await client.query<{ name: string; meaning: string }>(tablesSql)
  const { rows: columns } = await client.query<Column>(columnsSql)
  const { rows: keys } = await client.query<ForeignKey>(keysSql)
  const contexts = Object.keys(titles) as Context[]
  const parts = contexts.map((context) => {
    const own = tables.filter(({ name }) => contextOf(name) === context)
    const sections = own.map((table) => {
      const ofTable = <T extends { table: string }>(all: T[]) => all.filter((one) => one.table === table.name)
      return sectionOf(table, ofTable(columns), ofTable(keys))
    })
    const names = own.map(({ name }) => name)
    return [`## ${titles[context]}`, picture(names, keys), ...sections].filter(Boolean).join('\n\n')
  })
  return `${[intro(tables.length), ...parts].join('\n\n')}\n`
}

function contextOf(table: string): Context {
  const context = ofFiles.get(table) ?? ofMigrations[table]
  if (!context) throw new Error(`Name the context of ${table} in test/docs/schema-page.ts`)
  return context as Context
}

const intro = (count: number) => `# The schema

All ${count} tables by context, as \`migrate\` makes them. [src/database/schema](../../src/database/schema) has the tables of 0.2 with their
policies, grants and indexes, and the reasons; [src/database/migrations](../../src/database/migrations) has what came since. The queues have a schema
of their own, \`bullmq\`. This page is made from the database and its comments: \`UPDATE_SCHEMA=1 npm test -- test/docs/schema.test.ts\`.

- Every table but \`schema_migrations\` has row-level security: [how tenants are isolated](../explanation/isolation.md), [how long rows are kept](retention.md).
- The pictures leave out \`tenants\`: each table with a \`tenant_id\` belongs to one, and a purge deletes its rows.
- \`id\` is a UUID that grows with time, \`…_at\` a time, \`…_hash\` a digest, and \`…_sealed\` is encrypted by \`SECRET_KEYS\`.
- In bold: the column is never null. \`key\`: it is of the primary key. ⟶ is a foreign key, and ⟹ one with which the row is deleted.`

function sectionOf(table: { name: string; meaning: string }, columns: Column[], keys: ForeignKey[]): string {
  const rows = columns.map(({ name, type, required, isKey, meaning }) => {
    const leading = keys.filter((key) => key.columns.at(-1) === name)
    const arrows = leading.map(({ target, cascades }) => `${cascades ? '⟹' : '⟶'} ${target}`)
    const says = meaning || (common.find(([pattern]) => pattern.test(name))?.[1] ?? '')
    const shown = required ? `**${name}**` : name
    return `| ${shown} | ${isKey ? `${type}, key` : type} | ${[says, ...arrows].filter(Boolean).join(' ').replaceAll('|', '\\|')} |`
  })
  return [
    `### ${table.name}`,
    ...(table.meaning ? ['', table.meaning] : []),
    '',
    '| Column | Type | |',
    '|---|---|---|',
    ...rows,
  ].join('\n')
}

/** What refers to what, as Mermaid; tables without a foreign key are left out. */
function picture(names: string[], keys: ForeignKey[]): string {
  const shown = keys.filter(({ table, target }) => names.includes(table) && target !== 'tenants')
  if (shown.length === 0) return ''
  const lines = shown.map(({ table, columns, target }) => `  ${target} ||--o{ ${table} : ${columns.at(-1)}`)
  return ['```mermaid', 'erDiagram', ...lines, '```'].join('\n')
}

const relations = `
  select c.oid, c.relname::text as name from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
    and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')`

const tablesSql = `
  select name, coalesce(obj_description(oid, 'pg_class'), '') as meaning from (${relations}) t order by name`

/** In the order of a fresh database. */
const columnsSql = `
  select t.name as table, a.attname::text as name, a.attnotnull as required,
    exists (select from pg_constraint where conrelid = t.oid and contype = 'p' and a.attnum = any (conkey)) as "isKey",
    replace(format_type(atttypid, atttypmod), 'timestamp with time zone', 'timestamptz') as type,
    coalesce(col_description(t.oid, a.attnum), '') as meaning
  from (${relations}) t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  order by t.name, a.attnum`

const keysSql = `
  select t.name as table, k.confrelid::regclass::text as target, k.confdeltype = 'c' as cascades,
    array(select attname::text from unnest(k.conkey) with ordinality n (num, place)
          join pg_attribute on attrelid = k.conrelid and attnum = num order by place) as columns
  from (${relations}) t join pg_constraint k on k.conrelid = t.oid and k.contype = 'f'
  order by t.name, k.conname`
