import { z } from 'zod'
import { nilUuid } from '../../crypto/uuid.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { defineList, type ListPage } from '../../lists/list.ts'

const resourceRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  identifier: z.string(),
  name: z.string(),
  scopes: z.array(z.object({ permission: z.string(), description: z.string() })),
  client_ids: z.array(z.uuid()),
  created_by: z.uuid(),
  created_at: z.number(),
  version: z.number(),
})

export type ResourceRow = z.infer<typeof resourceRow>

/** What the editors of a resource set. `client_ids` are those of rows. */
export type ResourceFields = Pick<ResourceRow, 'identifier' | 'name' | 'scopes' | 'client_ids'>

interface ResourceKey {
  tenantId: string
  id: string
}

const columns = sql.fragment`
  tenant_id, id, identifier, name, scopes, client_ids, created_by, created_at, version`

/** The resources of a tenant. */
export const resourceList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`created_at`, field: 'created_at' } },
})

/** A page of the tenant's resources. */
export function listResources(read: Read, tenantId: string, page: ListPage): Promise<readonly ResourceRow[]> {
  return read.any(sql.type(resourceRow)`
    select ${columns} from oauth_resources where tenant_id = ${tenantId} ${page.tail}`)
}

/** How many resources match the filters; without `page`, how many there are. */
export function countResources(read: Read, tenantId: string, page?: ListPage): Promise<number> {
  return read.oneFirst(sql.type(countRow)`
    select count(*) from oauth_resources where tenant_id = ${tenantId} ${page?.conditions ?? sql.fragment``}`)
}

/** One resource, or null. */
export function findResource(read: Read, { tenantId, id }: ResourceKey): Promise<ResourceRow | null> {
  return read.maybeOne(sql.type(resourceRow)`
    select ${columns} from oauth_resources where tenant_id = ${tenantId} and id = ${id}`)
}

/** As findResource, but locks the resource until the transaction ends. */
export function lockResource(tx: Tx, { tenantId, id }: ResourceKey): Promise<ResourceRow | null> {
  return tx.maybeOne(sql.type(resourceRow)`
    select ${columns} from oauth_resources where tenant_id = ${tenantId} and id = ${id} for no key update`)
}

/** A resource as tokens name it. `tenant_id` is the nil UUID for one of a manifest, as it is for its clients. */
export type NamedResource = Pick<ResourceRow, 'tenant_id' | 'name' | 'scopes' | 'client_ids'>

const namedResource = resourceRow.pick({ tenant_id: true, name: true, scopes: true, client_ids: true })

/**
 * The resource with this identifier, or null: a manifest's before the tenant's, which else could introspect tokens of the
 * application. Both are asked in one round trip.
 */
export async function findByIdentifier(
  read: Read,
  tenantId: string,
  identifier: string,
): Promise<NamedResource | null> {
  const [ofManifest, ofTenant] = await Promise.all([
    read.maybeOne(sql.type(namedResource)`
      select ${nilUuid}::uuid as tenant_id, name, scopes, client_ids
      from manifest_resources where identifier = ${identifier}`),
    read.maybeOne(sql.type(namedResource)`
      select tenant_id, name, scopes, client_ids
      from oauth_resources where tenant_id = ${tenantId} and identifier = ${identifier}`),
  ])
  return ofManifest ?? ofTenant
}

/** Replaces the resources of an application with those of its manifest. As the system role. */
export function replaceManifestResources(
  tx: Tx,
  application: string,
  resources: readonly ResourceFields[],
): void {
  tx.later(sql.unsafe`delete from manifest_resources where application = ${application}`)
  for (const { identifier, name, scopes, client_ids } of resources)
    tx.later(sql.unsafe`
      insert into manifest_resources (identifier, application, name, scopes, client_ids)
      values (${identifier}, ${application}, ${name}, ${sql.jsonb(scopes)}, ${sql.array(client_ids, 'uuid')})`)
}

/** The ids of rows of clients among these that the tenant has. */
export async function clientsAmong(tx: Tx, tenantId: string, ids: readonly string[]): Promise<string[]> {
  const found = await tx.any(sql.type(idRow)`
    select id from oauth_clients where tenant_id = ${tenantId} and id = any(${sql.array(ids, 'uuid')})`)
  return found.map(({ id }) => id)
}

/** Inserts a resource. `at` in ms since 1970. */
export function insertResource(
  tx: Tx,
  {
    tenantId,
    id,
    createdBy,
    at,
    ...resource
  }: ResourceKey & ResourceFields & { createdBy: string; at: number },
): void {
  const when = instant(at)
  tx.later(sql.unsafe`
    insert into oauth_resources (tenant_id, id, identifier, name, scopes, client_ids, created_by, created_at, updated_at)
    values (${tenantId}, ${id}, ${resource.identifier}, ${resource.name}, ${sql.jsonb(resource.scopes)},
            ${sql.array(resource.client_ids, 'uuid')}, ${createdBy}, ${when}, ${when})`)
}

/** Updates a locked resource. `at` in ms since 1970. */
export function changeResource(
  tx: Tx,
  { tenantId, id, at, ...resource }: ResourceKey & ResourceFields & { at: number },
): void {
  tx.later(sql.unsafe`
    update oauth_resources set identifier = ${resource.identifier}, name = ${resource.name},
      scopes = ${sql.jsonb(resource.scopes)}, client_ids = ${sql.array(resource.client_ids, 'uuid')},
      version = version + 1, updated_at = ${instant(at)}
    where tenant_id = ${tenantId} and id = ${id}`)
}

/** Deletes a resource. */
export function deleteResource(tx: Tx, { tenantId, id }: ResourceKey): void {
  tx.later(sql.unsafe`delete from oauth_resources where tenant_id = ${tenantId} and id = ${id}`)
}
