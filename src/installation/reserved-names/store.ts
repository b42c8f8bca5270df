import type pg from 'pg'

// Before a migration the schema is that of the previous release, so these statements name only columns that both have.
// They run as the owner of the tables, who sees all tenants.

/** A row that can hold names, with its key and the JSON that `renameIn` takes. */
export interface NamingRow {
  table: Table
  tenant_id: string | null
  tenant: string | null
  /** the rest of its key */
  key: string
  name: string
  // biome-ignore lint/suspicious/noExplicitAny: rows of several tables
  document: any
}

const candidates = {
  roles: `select tenant_id, id::text as key, name, jsonb_build_object('permissions', permissions) as document from roles`,
  api_keys: `select tenant_id, id::text as key, name, jsonb_build_object('scopes', scopes) as document from api_keys`,
  policies: `select tenant_id, id::text as key, name, jsonb_build_object(
      'actions', actions, 'resource_types', resource_types, 'rules', rules, 'compiled', compiled) as document from policies`,
  policy_versions: `select tenant_id, id::text as key, policy_id::text as name, source as document from policy_versions`,
  registered_resources: `select tenant_id, resource_type as key, resource_type as name, jsonb_build_object(
      'resource_types', jsonb_build_array(resource_type)) as document from registered_resources group by tenant_id, resource_type`,
  manifests: `select null::uuid as tenant_id, application || ' ' || version as key, application as name,
      jsonb_build_object('document', document, 'compiled', compiled) as document from manifests`,
}

export type Table = keyof typeof candidates

/** The rows of all tables whose JSON has one of these words in quotes, alone or in an action; other rows, too, by chance. */
export async function listNamingRows(
  client: pg.ClientBase,
  resources: readonly string[],
): Promise<NamingRow[]> {
  const found: NamingRow[] = []
  // In the text of a module the quotes are escaped, or backticks.
  const pattern = `["\`](${resources.join('|')})["\`:\\\\]`
  for (const [table, rows] of Object.entries(candidates)) {
    const { rows: there } = await client.query('select to_regclass($1) is not null as yes', [
      `public.${table}`,
    ])
    if (!there[0].yes) continue
    const result = await client.query(
      `select r.*, t.slug as tenant from (${rows}) r left join tenants t on t.id = r.tenant_id
       where r.document::text ~ $1 and t.deleted_at is null order by t.slug, r.name`,
      [pattern],
    )
    found.push(...result.rows.map((row) => ({ ...row, table: table as Table })))
  }
  return found
}

const texts = (name: string) => `array(select jsonb_array_elements_text($3::jsonb -> '${name}'))`

const updates: Record<Table, string> = {
  roles: `update roles set permissions = ${texts('permissions')}, version = version + 1
    where tenant_id = $1 and id = $2::uuid`,
  api_keys: `update api_keys set scopes = ${texts('scopes')} where tenant_id = $1 and id = $2::uuid`,
  policies: `update policies set actions = ${texts('actions')}, resource_types = ${texts('resource_types')},
      rules = $3::jsonb -> 'rules', compiled = $3::jsonb -> 'compiled'
    where tenant_id = $1 and id = $2::uuid`,
  policy_versions: `with written as (
      update policy_versions set source = $3::jsonb, checksum = $4 where tenant_id = $1 and id = $2::uuid
      returning policy_id, version)
    update policies set checksum = $4 where tenant_id = $1 and (id, version) in (select * from written)`,
  registered_resources: `update registered_resources set resource_type = $3::jsonb -> 'resource_types' ->> 0
    where tenant_id = $1 and resource_type = $2`,
  manifests: `update manifests set document = $3::jsonb -> 'document', compiled = $3::jsonb -> 'compiled', checksum = $4
    where $1::uuid is null and application || ' ' || version = $2`,
}

/** Writes the JSON of a row back. `checksumOf` gives the checksum of a version of a policy or a manifest. */
export async function updateNamingRow(
  client: pg.ClientBase,
  { table, tenant_id, key, document }: NamingRow,
  checksumOf: (source: unknown) => string,
): Promise<void> {
  const values = [tenant_id, key, JSON.stringify(document)]
  if (table === 'policy_versions') values.push(checksumOf(document))
  if (table === 'manifests') values.push(checksumOf(document.document))
  await client.query(updates[table], values)
}

/** Lets no process decide by the policies of these tenants that it has in memory. */
export async function incrementRevisions(client: pg.ClientBase, tenantIds: readonly string[]): Promise<void> {
  await client.query('update tenants set policy_revision = policy_revision + 1 where id = any($1)', [
    tenantIds,
  ])
}
