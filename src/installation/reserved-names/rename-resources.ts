import type pg from 'pg'
import { checksumOf } from '../../authorization/policies/compile-body.ts'
import { reservedResources } from '../../policy-engine/catalogue/reserved-names.ts'
import { namesIn, quotedIn, renameIn, resourceOf } from './rename-in.ts'
import { incrementRevisions, listNamingRows, type NamingRow, type Table, updateNamingRow } from './store.ts'

/** New names of resources by the old ones. */
export type NewNames = ReadonlyMap<string, string>

/** Something that uses names of resources. */
export interface Use {
  /** The slug of the tenant; null for a manifest. */
  tenant: string | null
  what: string
  names: string[]
}

/** What stands in the way of a migration. */
export type Obstacle = 'reserved' | 'taken' | 'module'

/** The names cannot be changed. Nothing was. */
export class NamesInUse extends Error {
  readonly obstacle: Obstacle
  readonly uses: Use[]
  constructor(obstacle: Obstacle, uses: Use[]) {
    super(obstacle)
    this.obstacle = obstacle
    this.uses = uses
  }
}

/**
 * Gives the resources of applications new names in all tenants and manifests, in the transaction of `client`, which is that
 * of the owner; returns what was changed. Throws {@link NamesInUse} for a reserved name without a new one, for a new name
 * that the same tenant has already, and for a module in force whose text has an old name and not the new one.
 */
export async function renameResources(
  client: pg.ClientBase,
  names: NewNames,
  reserved: readonly string[] = reservedResources,
): Promise<Use[]> {
  const rows = await listNamingRows(client, [...reserved, ...names.keys(), ...names.values()])
  const using = (resources: Iterable<string>, some = rows) => usesOf(some, new Set(resources))
  const unnamed = reserved.filter((resource) => !names.has(resource))
  assertNone('reserved', using(unnamed, rows.filter(isInForce)))

  const changed = rows.filter(({ document }) => namesIn(document, new Set(names.keys())).length > 0)
  const tenants = new Set(changed.map(({ tenant_id }) => tenant_id))
  assertNone(
    'taken',
    using(
      names.values(),
      rows.filter(({ tenant_id }) => tenants.has(tenant_id)),
    ),
  )
  assertNone('module', modulesBehind(rows, names))

  const rename = (name: string) => {
    const resource = resourceOf(name)
    return (names.get(resource) ?? resource) + name.slice(resource.length)
  }
  for (const row of changed)
    await updateNamingRow(client, { ...row, document: renameIn(row.document, rename) }, checksumOf)
  await incrementRevisions(
    client,
    [...tenants].filter((id) => id !== null),
  )
  return using(names.keys(), changed)
}

const inForce: ReadonlySet<Table> = new Set([
  'roles',
  'api_keys',
  'policies',
  'registered_resources',
  'manifests',
])

/** Versions of policies are history: they are renamed with the rest, and stand in no way. */
const isInForce = ({ table }: NamingRow) => inForce.has(table)

function assertNone(obstacle: Obstacle, uses: Use[]): void {
  if (uses.length > 0) throw new NamesInUse(obstacle, uses)
}

const usesOf = (rows: readonly NamingRow[], resources: ReadonlySet<string>): Use[] =>
  rows.filter(isInForce).flatMap((row) => {
    const names = namesIn(row.document, resources)
    return names.length > 0 ? [useOf(row, names)] : []
  })

const kinds: Record<Table, string> = {
  roles: 'role',
  api_keys: 'key',
  policies: 'policy',
  policy_versions: 'policy',
  registered_resources: 'resources',
  manifests: 'manifest',
}

const useOf = ({ table, tenant, name }: NamingRow, names: string[]): Use => ({
  tenant,
  what: `${kinds[table]} "${name}"`,
  names,
})

/** Modules are compiled with their text, so only their authors can change it, before the migration. */
const modulesBehind = (rows: readonly NamingRow[], names: NewNames): Use[] =>
  rows.filter(isInForce).flatMap((row) => {
    const behind = modulesOf(row).flatMap((text) =>
      quotedIn(text, names.keys()).filter((name) => quotedIn(text, [names.get(name)!]).length === 0),
    )
    return behind.length > 0 ? [useOf(row, [...new Set(behind)])] : []
  })

function modulesOf({ table, document }: NamingRow): string[] {
  if (table === 'policies') return [document.rules.module].filter((text) => typeof text === 'string')
  if (table !== 'manifests') return []
  const policies = Object.values<{ module?: unknown }>(document.document.policies ?? {})
  return policies.map(({ module }) => module).filter((text) => typeof text === 'string')
}
