import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { defineList, type ListPage } from '../../lists/list.ts'
import type { Holder } from '../../tenancy/roles/grantable-roles.ts'

export const statuses = ['draft', 'active', 'disabled'] as const
export const joinings = ['off', 'verified_domains'] as const
export const directorySubjects = ['external_id', 'user_name'] as const

export const mappingRule = z.object({
  claim: z.string(),
  value: z.string(),
  roles: z.array(z.uuid()),
  department_id: z.uuid().nullable(),
})
export type MappingRule = z.infer<typeof mappingRule>

const oidcConfig = z.object({ issuer: z.string(), client_id: z.string(), scopes: z.array(z.string()) })
export type OidcConfig = z.infer<typeof oidcConfig>

export const samlConfig = z.object({
  /** Where it publishes its metadata, which is read again daily; null: it was uploaded. */
  metadata_url: z.string().nullable(),
  entity_id: z.string(),
  sign_in_url: z.string(),
  certificates: z.array(z.object({ sha256: z.string(), ends_at: z.iso.datetime(), pem: z.string() })),
  read_at: z.iso.datetime(),
  /** Why the metadata that is at the address now does not count. */
  fault: z.string().nullable(),
})
/** What the metadata of an identity provider says. */
export type SamlConfig = z.infer<typeof samlConfig>

const shared = z.object({
  id: z.uuid(),
  name: z.string(),
  status: z.enum(statuses),
  subject_attribute: z.string(),
  mapping: z.array(mappingRule),
  jit: z.enum(joinings),
  trusts_mfa: z.boolean(),
  directory_subject: z.enum(directorySubjects).nullable(),
  tested_by: z.uuid().nullable(),
  tested_at: z.number().nullable(),
  activated_by: z.uuid().nullable(),
  activated_at: z.number().nullable(),
  activator_left_at: z.number().nullable(),
  created_at: z.number(),
  version: z.number(),
})
const ofOidc = { kind: z.literal('oidc'), config: oidcConfig }
const ofSaml = { kind: z.literal('saml'), config: samlConfig }
const connectionRow = z.discriminatedUnion('kind', [shared.extend(ofOidc), shared.extend(ofSaml)])

/** A connection without its secret. */
export type ConnectionRow = z.infer<typeof connectionRow>

export interface ConnectionKey {
  tenantId: string
  id: string
}

const columns = sql.fragment`
  id, name, kind, status, config, subject_attribute, mapping, jit, trusts_mfa, directory_subject, tested_by, tested_at,
  activated_by, activated_at, activator_left_at, created_at, version`

/** The connections of a tenant. */
export const connectionList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`created_at`, field: 'created_at' } },
})

/** A page of the tenant's connections. */
export function listConnections(
  read: Read,
  tenantId: string,
  page: ListPage,
): Promise<readonly ConnectionRow[]> {
  return read.any(sql.type(connectionRow)`
    select ${columns} from connections where tenant_id = ${tenantId} ${page.tail}`)
}

/** How many connections match the filters; without `page`, how many there are. */
export function countConnections(read: Read, tenantId: string, page?: ListPage): Promise<number> {
  return read.oneFirst(sql.type(countRow)`
    select count(*) from connections where tenant_id = ${tenantId} ${page?.conditions ?? sql.fragment``}`)
}

/** One connection of the tenant, or null. */
export function findConnection(read: Read, { tenantId, id }: ConnectionKey): Promise<ConnectionRow | null> {
  return read.maybeOne(sql.type(connectionRow)`
    select ${columns} from connections where tenant_id = ${tenantId} and id = ${id}`)
}

/** As findConnection, but locks the connection until the transaction ends. */
export function lockConnection(tx: Tx, { tenantId, id }: ConnectionKey): Promise<ConnectionRow | null> {
  return tx.maybeOne(sql.type(connectionRow)`
    select ${columns} from connections where tenant_id = ${tenantId} and id = ${id} for no key update`)
}

/** Inserts a draft; `sealed`: the client secret, where its kind has one. */
export function insertConnection(
  tx: Tx,
  row: ConnectionRow,
  { tenantId, createdBy, sealed }: { tenantId: string; createdBy: string; sealed: Buffer | null },
): void {
  const at = instant(row.created_at)
  tx.later(sql.unsafe`
    insert into connections (tenant_id, id, name, kind, status, config, client_secret_sealed, subject_attribute, mapping, jit,
      trusts_mfa, directory_subject, created_by, created_at, updated_at)
    values (${tenantId}, ${row.id}, ${row.name}, ${row.kind}, 'draft', ${sql.jsonb(row.config)}, ${sealed && sql.binary(sealed)},
      ${row.subject_attribute}, ${sql.jsonb(row.mapping)}, ${row.jit}, ${row.trusts_mfa}, ${row.directory_subject},
      ${createdBy}, ${at}, ${at})`)
}

/** What changes with a connection besides what it shows. `at` in ms since 1970; `sealed`: a new secret. */
interface Change {
  tenantId: string
  at: number
  sealed: Buffer | null
  /** What the person who activates it now holds. */
  activator: Holder | null
}

/** Updates a locked connection. */
export function changeConnection(
  tx: Tx,
  row: ConnectionRow,
  { tenantId, at, sealed, activator }: Change,
): void {
  const secret = sealed && sql.fragment`client_secret_sealed = ${sql.binary(sealed)},`
  const holder = activator && sql.fragment`activator = ${sql.jsonb({ ...activator })},`
  tx.later(sql.unsafe`
    update connections set ${secret ?? sql.fragment``} ${holder ?? sql.fragment``}
      name = ${row.name}, status = ${row.status}, config = ${sql.jsonb(row.config)},
      subject_attribute = ${row.subject_attribute}, mapping = ${sql.jsonb(row.mapping)}, jit = ${row.jit},
      trusts_mfa = ${row.trusts_mfa}, directory_subject = ${row.directory_subject}, tested_by = ${row.tested_by},
      tested_at = ${row.tested_at === null ? null : instant(row.tested_at)}, activated_by = ${row.activated_by},
      activated_at = ${row.activated_at === null ? null : instant(row.activated_at)},
      activator_left_at = ${row.activator_left_at === null ? null : instant(row.activator_left_at)},
      version = version + 1, updated_at = ${instant(at)}
    where tenant_id = ${tenantId} and id = ${row.id}`)
}

/** Deletes a connection. */
export function deleteConnection(tx: Tx, { tenantId, id }: ConnectionKey): void {
  tx.later(sql.unsafe`delete from connections where tenant_id = ${tenantId} and id = ${id}`)
}

const ofTenant = shared.extend({ tenant_id: z.uuid() })
const clientRow = z.discriminatedUnion('kind', [
  ofTenant.extend({ ...ofOidc, client_secret_sealed: z.instanceof(Buffer) }),
  ofTenant.extend({ ...ofSaml, client_secret_sealed: z.null() }),
])

/** A connection with what the service needs to be its client. */
export type ConnectionClient = z.infer<typeof clientRow>

/** A connection of any tenant, with its sealed secret, or null. As the system role. */
export function findConnectionClient(read: Read, id: string): Promise<ConnectionClient | null> {
  return read.maybeOne(sql.type(clientRow)`
    select tenant_id, client_secret_sealed, ${columns} from connections where id = ${id}`)
}

/**
 * Records that a person signed in by a connection to try it, and gives whether they did: not if it was changed since `version`. As the
 * system role; `at` in ms since 1970.
 */
export async function recordTest(
  tx: Tx,
  { tenantId, id, version, userId, at }: ConnectionKey & { version: number; userId: string; at: number },
): Promise<boolean> {
  const tested = await tx.maybeOne(sql.type(idRow)`
    update connections set tested_by = ${userId}, tested_at = ${instant(at)}, version = version + 1
    where tenant_id = ${tenantId} and id = ${id} and version = ${version} returning id`)
  return tested !== null
}
