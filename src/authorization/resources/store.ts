import { z } from 'zod'
import { addToCount, countRows } from '../../database/count-rows.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { byId, byText, defineList, type ListPage } from '../../lists/list.ts'
import { resourceType } from '../policies/policy-body.ts'

const rowsRow = z.object({ rows: z.number() })

const resourceRow = z.object({
  id: z.uuid(),
  resource_type: z.string(),
  resource_id: z.string(),
  owner_id: z.uuid().nullable(),
  department_id: z.uuid().nullable(),
  attributes: z.record(z.string(), z.unknown()),
  version: z.number(),
  created_at: z.number(),
  updated_at: z.number(),
})

/** A resource of an application; `resource_id` is the id that the application gave it. */
export type ResourceRow = z.infer<typeof resourceRow>

/** How an application names a resource. */
export type ResourceName = Pick<ResourceRow, 'resource_type' | 'resource_id'>

const columns = sql.fragment`
  id, resource_type, resource_id, owner_id, department_id, attributes, version, created_at, updated_at`

/** The registered resources of a tenant. */
export const resourceList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`created_at`, field: 'created_at' } },
  filters: {
    resource_type: byText(sql.fragment`resource_type`, resourceType, 'resource_type'),
    owner_id: byId(sql.fragment`owner_id`),
    department_id: byId(sql.fragment`department_id`),
  },
})

/** A page of the tenant's registered resources. */
export function listResources(read: Read, tenantId: string, page: ListPage): Promise<readonly ResourceRow[]> {
  return read.any(sql.type(resourceRow)`
    select ${columns} from registered_resources where tenant_id = ${tenantId} ${page.tail}`)
}

/** Counts the resources that match the filters. Without filters the count comes from `row_counts`. */
export function countResources(read: Read, tenantId: string, page: ListPage): Promise<number> {
  if (!page.filtered) return countRows(read, tenantId, relation)
  return read.oneFirst(sql.type(countRow)`
    select count(*) from registered_resources where tenant_id = ${tenantId} ${page.conditions}`)
}

/** A resource by the name that its application gave it, or null. */
export function findResource(
  read: Read,
  tenantId: string,
  { resource_type, resource_id }: ResourceName,
): Promise<ResourceRow | null> {
  return read.maybeOne(sql.type(resourceRow)`
    select ${columns} from registered_resources
    where tenant_id = ${tenantId} and resource_type = ${resource_type} and resource_id = ${resource_id}`)
}

/** A resource by its own id, or null. */
export function findResourceById(read: Read, tenantId: string, id: string): Promise<ResourceRow | null> {
  return read.maybeOne(sql.type(resourceRow)`
    select ${columns} from registered_resources where tenant_id = ${tenantId} and id = ${id}`)
}

/**
 * Makes changes to the resource of a name wait for each other until the transaction ends, also while it does not exist, and
 * for {@link lockAllResources}.
 */
export async function lockResourceName(
  tx: Tx,
  tenantId: string,
  { resource_type, resource_id }: ResourceName,
): Promise<void> {
  const name = `${tenantId} ${resource_type} ${resource_id}`
  tx.later(sql.unsafe`
    select pg_advisory_xact_lock_shared(hashtextextended(${tenantId}, 63)),
           pg_advisory_xact_lock(hashtextextended(${name}, 63))`)
}

/**
 * Makes all changes to the resources of the tenant wait until the transaction ends. A lock for each of a thousand names
 * would use up the table of locks, which all tenants share.
 */
export function lockAllResources(tx: Tx, tenantId: string): void {
  tx.later(sql.unsafe`select pg_advisory_xact_lock(hashtextextended(${tenantId}, 63))`)
}

const storedRow = resourceRow.extend({ attributes: z.string() })

/** A resource with its attributes as JSON: parsing those of a thousand at once would keep the event loop. */
export type StoredResource = z.infer<typeof storedRow>

/** The resources of these names. */
export function findResources(
  read: Read,
  tenantId: string,
  names: readonly ResourceName[],
): Promise<readonly StoredResource[]> {
  const pairs = names.map(({ resource_type, resource_id }) => [resource_type, resource_id])
  return read.any(sql.type(storedRow)`
    select id, resource_type, resource_id, owner_id, department_id, attributes::text as attributes, version,
           created_at, updated_at
    from registered_resources
    where tenant_id = ${tenantId}
      and (resource_type, resource_id) in (select * from ${sql.unnest(pairs, ['text', 'text'])})`)
}

/** What a caller can set of a resource. */
export type ResourceValues = Pick<ResourceRow, 'owner_id' | 'department_id' | 'attributes'>

/** Inserts a resource. The caller has locked its name and found none. */
export function insertResource(
  tx: Tx,
  tenantId: string,
  row: ResourceName & ResourceValues & { id: string; at: number },
): Promise<ResourceRow> {
  const at = instant(row.at)
  return tx.one(sql.type(resourceRow)`
    insert into registered_resources (tenant_id, id, resource_type, resource_id, owner_id, department_id,
                                      attributes, created_at, updated_at)
    values (${tenantId}, ${row.id}, ${row.resource_type}, ${row.resource_id}, ${row.owner_id},
            ${row.department_id}, ${sql.jsonb(row.attributes as never)}, ${at}, ${at})
    returning ${columns}`)
}

/** Replaces the values of a resource; null if they are the same. */
export function replaceResource(
  tx: Tx,
  tenantId: string,
  row: ResourceValues & { id: string; at: number },
): Promise<ResourceRow | null> {
  const next = sql.fragment`(${row.owner_id}::uuid, ${row.department_id}::uuid, ${sql.jsonb(row.attributes as never)})`
  return tx.maybeOne(sql.type(resourceRow)`
    update registered_resources set (owner_id, department_id, attributes) = ${next}, version = version + 1,
                                    updated_at = ${instant(row.at)}
    where tenant_id = ${tenantId} and id = ${row.id}
      and (owner_id, department_id, attributes) is distinct from ${next}
    returning ${columns}`)
}

/** What is stored of each of many resources; `attributes` is JSON. */
export type ManyValues = Omit<ResourceValues, 'attributes'> & { id: string; attributes: string }

/** Inserts many resources and counts them. The caller has locked all and found none of these names. */
export function insertResources(
  tx: Tx,
  tenantId: string,
  rows: readonly (ManyValues & ResourceName)[],
  at: number,
): void {
  if (rows.length === 0) return
  const now = new Date(at).toISOString()
  const values = rows.map((row) => [
    tenantId,
    row.id,
    row.resource_type,
    row.resource_id,
    row.owner_id,
    row.department_id,
    row.attributes,
    now,
    now,
  ])
  for (const list of listsOfValues(values))
    tx.later(sql.unsafe`
      insert into registered_resources (tenant_id, id, resource_type, resource_id, owner_id, department_id,
                                        attributes, created_at, updated_at) ${list}`)
  addToCount(tx, tenantId, relation, rows.length)
}

/** Replaces the values of many resources; gives the ids of those whose values were others. */
export async function replaceResources(
  tx: Tx,
  tenantId: string,
  rows: readonly ManyValues[],
  at: number,
): Promise<ReadonlySet<string>> {
  if (rows.length === 0) return new Set()
  const values = rows.map((row) => [row.id, row.owner_id, row.department_id, row.attributes])
  const replaced = await tx.anyFirst(sql.type(idRow)`
    update registered_resources r
    set owner_id = n.owner_id, department_id = n.department_id, attributes = n.attributes::jsonb,
        version = r.version + 1, updated_at = ${instant(at)}
    from ${sql.unnest(values, ['uuid', 'uuid', 'uuid', 'text'])} as n (id, owner_id, department_id, attributes)
    where r.tenant_id = ${tenantId} and r.id = n.id
      and (r.owner_id, r.department_id, r.attributes)
          is distinct from (n.owner_id, n.department_id, n.attributes::jsonb)
    returning r.id`)
  return new Set(replaced)
}

/** Deletes many resources, which exist and are locked. */
export function deleteResources(tx: Tx, tenantId: string, ids: readonly string[]): void {
  if (ids.length === 0) return
  tx.later(sql.unsafe`
    delete from registered_resources where tenant_id = ${tenantId} and id = any(${sql.array([...ids], 'uuid')})`)
  addToCount(tx, tenantId, relation, -ids.length)
}

/** Deletes a resource. */
export async function deleteResource(tx: Tx, tenantId: string, id: string): Promise<void> {
  tx.later(sql.unsafe`delete from registered_resources where tenant_id = ${tenantId} and id = ${id}`)
  addToCount(tx, tenantId, relation, -1)
}

const relation = 'registered_resources'

/** Counts one more resource; false, and nothing is counted, if the tenant has `max` already. */
export async function countOneMore(tx: Tx, tenantId: string, max: number): Promise<boolean> {
  if (max < 1) return false
  const counted = await tx.maybeOne(sql.type(rowsRow)`
    insert into row_counts as c (tenant_id, relation, rows) values (${tenantId}, ${relation}, 1)
    on conflict (tenant_id, relation) do update set rows = c.rows + 1 where c.rows < ${max} returning rows`)
  return counted !== null
}

const knownRow = resourceRow
  .pick({ resource_type: true, resource_id: true, owner_id: true, department_id: true })
  .extend({ owner_manager_id: z.uuid().nullable(), attributes: z.string() })

/** A registered resource as decisions read it; `attributes` is JSON. */
export type KnownResource = z.infer<typeof knownRow>

const known = (tenantId: string) => sql.fragment`
  r.resource_type, r.resource_id, r.owner_id, r.department_id, r.attributes::text as attributes, m.manager_id as owner_manager_id
  from registered_resources r
  left join memberships m on m.tenant_id = ${tenantId} and m.user_id = r.owner_id`

/** The registered resources among these names. */
export function findKnownResources(
  read: Read,
  tenantId: string,
  names: readonly ResourceName[],
): Promise<readonly KnownResource[]> {
  const pairs = names.map(({ resource_type, resource_id }) => [resource_type, resource_id])
  return read.any(sql.type(knownRow)`
    select ${known(tenantId)}
    where r.tenant_id = ${tenantId}
      and (r.resource_type, r.resource_id) in (select * from ${sql.unnest(pairs, ['text', 'text'])})`)
}

/** The registered resources of a type by their ids, after one. */
export function listKnownResources(
  read: Read,
  tenantId: string,
  { type, after, limit }: { type: string; after: string; limit: number },
): Promise<readonly KnownResource[]> {
  return read.any(sql.type(knownRow)`
    select ${known(tenantId)}
    where r.tenant_id = ${tenantId} and r.resource_type = ${type} and r.resource_id > ${after} collate "C"
    order by r.resource_id limit ${limit}`)
}
