import { z } from 'zod'
import { nilUuid } from '../../crypto/uuid.ts'
import { parameterized } from '../../database/executor/parameterized.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import type { Statements } from '../../database/executor/statements.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { defineList, type ListPage } from '../../lists/list.ts'
import { brandingRow } from '../../tenancy/tenants/branding.ts'
import { defaultsOf } from './client-defaults.ts'
import { type ClientKey, isOfManifest } from './client-id.ts'
import { findManifestClient, recordManifestUse } from './manifest-store.ts'

export const clientKinds = ['web', 'spa', 'native', 'machine', 'device'] as const
export type ClientKind = (typeof clientKinds)[number]
export const authMethods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] as const
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
export const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials', deviceGrant] as const
export const idTokenAlgorithms = ['RS256', 'ES256', 'EdDSA'] as const
export const groupKinds = ['roles', 'departments', 'both'] as const

/** What the editors of a client set. */
export const clientFields = {
  name: z.string(),
  kind: z.enum(clientKinds),
  redirect_uris: z.array(z.string()),
  post_logout_redirect_uris: z.array(z.string()),
  backchannel_logout_uri: z.string().nullable(),
  scopes: z.array(z.string()),
  grant_types: z.array(z.enum(grantTypes)),
  token_endpoint_auth_method: z.enum(authMethods),
  jwks: z.object({ keys: z.array(z.record(z.string(), z.string())) }).nullable(),
  jwks_uri: z.string().nullable(),
  id_token_signed_response_alg: z.enum(idTokenAlgorithms),
  require_pkce: z.boolean(),
  require_par: z.boolean(),
  dpop_bound: z.boolean(),
  first_party: z.boolean(),
  groups: z.enum(groupKinds).nullable(),
  branding: brandingRow.nullable(),
  service_account_id: z.uuid().nullable(),
  is_active: z.boolean(),
}

/** Whose JWTs a trust takes, and what they have to say. */
export const trustTerms = z.object({
  issuer: z.string(),
  audience: z.string(),
  /** Patterns by the names of claims. */
  claims: z.record(z.string(), z.string()),
  /** The issuer's keys, where it cannot be asked for them. */
  jwks: clientFields.jwks,
})

const clientRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  ...clientFields,
  consents_from: z.number(),
  created_by: z.uuid(),
  created_at: z.number(),
  last_used_at: z.number().nullable(),
  version: z.number(),
})

export type ClientRow = z.infer<typeof clientRow>

export type ClientFields = Pick<ClientRow, keyof typeof clientFields>

/** Whether a client authenticates with a secret. */
export const usesSecrets = ({ token_endpoint_auth_method: method }: ClientFields): boolean =>
  method.startsWith('client_secret_')

const columns = sql.fragment`
  tenant_id, id, name, kind, redirect_uris, post_logout_redirect_uris, backchannel_logout_uri, scopes, grant_types,
  token_endpoint_auth_method, jwks, jwks_uri, id_token_signed_response_alg, require_pkce, require_par, dpop_bound, first_party, groups, branding, service_account_id,
  is_active, consents_from, created_by, created_at, last_used_at, version`

/** The clients of a tenant. */
export const clientList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`created_at`, field: 'created_at' } },
})

// Trusts are rows of the same table: oauth/trusts/store.ts.
const clientsOf = (tenantId: string) =>
  sql.fragment`oauth_clients where tenant_id = ${tenantId} and trust is null`

/** A page of the tenant's clients. */
export function listClients(read: Read, tenantId: string, page: ListPage): Promise<readonly ClientRow[]> {
  return read.any(sql.type(clientRow)`select ${columns} from ${clientsOf(tenantId)} ${page.tail}`)
}

/** How many clients match the filters; without `page`, how many there are. */
export function countClients(read: Read, tenantId: string, page?: ListPage): Promise<number> {
  return read.oneFirst(sql.type(countRow)`
    select count(*) from ${clientsOf(tenantId)} ${page?.conditions ?? sql.fragment``}`)
}

/** One client, or null. */
export function findClient(read: Read, { tenantId, id }: ClientKey): Promise<ClientRow | null> {
  return read.maybeOne(sql.type(clientRow)`select ${columns} from ${clientsOf(tenantId)} and id = ${id}`)
}

/** As findClient, but locks the client until the transaction ends. */
export function lockClient(tx: Tx, { tenantId, id }: ClientKey): Promise<ClientRow | null> {
  return tx.maybeOne(sql.type(clientRow)`
    select ${columns} from ${clientsOf(tenantId)} and id = ${id} for no key update`)
}

const jsonOrNull = (value: object | null) => (value ? sql.jsonb(value as never) : null)
const texts = (values: readonly string[]) => sql.array(values, 'text')

/** Inserts a client. `at` in ms since 1970. */
export function insertClient(
  tx: Tx,
  { tenantId, id, createdBy, at, ...client }: ClientKey & ClientFields & { createdBy: string; at: number },
): void {
  const when = instant(at)
  tx.later(sql.unsafe`
    insert into oauth_clients (tenant_id, id, name, kind, redirect_uris, post_logout_redirect_uris, backchannel_logout_uri,
      scopes, grant_types, token_endpoint_auth_method, jwks, jwks_uri, id_token_signed_response_alg, require_pkce, require_par, dpop_bound, first_party, groups, branding,
      service_account_id, is_active, consents_from, created_by, created_at, updated_at)
    values (${tenantId}, ${id}, ${client.name}, ${client.kind}, ${texts(client.redirect_uris)},
      ${texts(client.post_logout_redirect_uris)}, ${client.backchannel_logout_uri}, ${texts(client.scopes)}, ${texts(client.grant_types)},
      ${client.token_endpoint_auth_method}, ${jsonOrNull(client.jwks)}, ${client.jwks_uri},
      ${client.id_token_signed_response_alg}, ${client.require_pkce}, ${client.require_par}, ${client.dpop_bound}, ${client.first_party}, ${client.groups}, ${jsonOrNull(client.branding)},
      ${client.service_account_id}, ${client.is_active}, ${when}, ${createdBy}, ${when}, ${when})`)
}

/** Updates a locked client. `at` in ms since 1970. */
export function changeClient(
  tx: Tx,
  {
    tenantId,
    id,
    consents_from,
    at,
    ...client
  }: ClientKey & ClientFields & { consents_from: number; at: number },
): void {
  tx.later(sql.unsafe`
    update oauth_clients set name = ${client.name}, redirect_uris = ${texts(client.redirect_uris)},
      post_logout_redirect_uris = ${texts(client.post_logout_redirect_uris)},
      backchannel_logout_uri = ${client.backchannel_logout_uri}, scopes = ${texts(client.scopes)},
      grant_types = ${texts(client.grant_types)}, token_endpoint_auth_method = ${client.token_endpoint_auth_method},
      jwks = ${jsonOrNull(client.jwks)}, jwks_uri = ${client.jwks_uri},
      id_token_signed_response_alg = ${client.id_token_signed_response_alg}, require_pkce = ${client.require_pkce},
      require_par = ${client.require_par}, dpop_bound = ${client.dpop_bound},
      first_party = ${client.first_party}, groups = ${client.groups}, branding = ${jsonOrNull(client.branding)},
      service_account_id = ${client.service_account_id}, is_active = ${client.is_active},
      consents_from = ${instant(consents_from)}, version = version + 1, updated_at = ${instant(at)}
    where tenant_id = ${tenantId} and id = ${id}`)
}

/** Deletes a client with its secrets. */
export function deleteClient(tx: Tx, { tenantId, id }: ClientKey): void {
  tx.later(sql.unsafe`delete from oauth_clients where tenant_id = ${tenantId} and id = ${id}`)
}

const secretRow = z.object({
  id: z.uuid(),
  created_at: z.number(),
  last_used_at: z.number().nullable(),
})

export type SecretRow = z.infer<typeof secretRow>

/** The secrets of a client, oldest first. */
export function listSecrets(read: Read, { tenantId, id }: ClientKey): Promise<readonly SecretRow[]> {
  return read.any(sql.type(secretRow)`
    select id, created_at, last_used_at from oauth_client_secrets
    where tenant_id = ${tenantId} and client_id = ${id} order by created_at, id`)
}

/** Inserts a secret of a locked client. */
export function insertSecret(
  tx: Tx,
  secret: { tenantId: string; id: string; clientId: string; hash: Buffer; createdBy: string; at: number },
): void {
  tx.later(sql.unsafe`
    insert into oauth_client_secrets (tenant_id, id, client_id, secret_hash, created_by, created_at)
    values (${secret.tenantId}, ${secret.id}, ${secret.clientId}, ${sql.binary(secret.hash)}, ${secret.createdBy},
            ${instant(secret.at)})`)
}

/** Deletes a secret; false if the client has no such one. */
export async function deleteSecret(tx: Tx, { tenantId, id }: ClientKey, secretId: string): Promise<boolean> {
  const gone = await tx.maybeOne(sql.type(idRow)`
    delete from oauth_client_secrets
    where tenant_id = ${tenantId} and client_id = ${id} and id = ${secretId} returning id`)
  return gone !== null
}

const usableRow = clientRow.extend({
  secret_hashes: z.array(z.string()),
  /** When each was used last. */
  secret_uses: z.array(z.number()),
  tenant_slug: z.string(),
  tenant_name: z.string(),
  trust: trustTerms.nullable(),
  trust_ends_at: z.number().nullable(),
})

/** A client, the hashes of its secrets, in hex, and its tenant. */
export type UsableClient = z.infer<typeof usableRow>

/**
 * A client that may be used, with its secrets; null if it is unknown or disabled. One of a manifest has the tenant of the key.
 * As the system role or the API role.
 */
export async function findUsableClient(read: Read, key: ClientKey): Promise<UsableClient | null> {
  return isOfManifest(key.id) ? findUsableManifestClient(read, key) : read.maybeOne(usable({ ...key }))
}

const usable = parameterized(({ tenantId, id }: Record<'tenantId' | 'id', string>) => {
  const secrets = sql.fragment`
    from oauth_client_secrets s where s.tenant_id = ${tenantId} and s.client_id = ${id} order by s.created_at, s.id`
  return sql.type(usableRow)`
    select c.*, t.slug as tenant_slug, t.name as tenant_name,
           array(select encode(s.secret_hash, 'hex') ${secrets}) as secret_hashes,
           array(select coalesce(s.last_used_at, 'epoch') ${secrets}) as secret_uses
    from (select ${columns}, trust, trust_ends_at from oauth_clients where tenant_id = ${tenantId} and id = ${id} and is_active) c
    join tenants t on t.id = c.tenant_id`
})

/** A use of a client, and of its secret with this hash. */
export interface ClientUse {
  client: ClientKey
  secretHash: Buffer | null
}

const sameUseMs = 60_000

/** Whether the last use of a client, as it was read, is less than a minute ago. */
export function isNoted(client: UsableClient, { secretHash }: ClientUse, now: number): boolean {
  const place = secretHash === null ? null : client.secret_hashes.indexOf(secretHash.toString('hex'))
  const uses = [client.last_used_at, ...(place === null ? [] : [client.secret_uses[place] ?? null])]
  return uses.every((at) => at !== null && at > now - sameUseMs)
}

/** Notes the use of a client, to the minute. */
export async function recordUse(statements: Statements, use: ClientUse, now: number): Promise<void> {
  const { client, secretHash } = use
  const { tenantId, id } = client
  if (isOfManifest(id)) return recordManifestUse(statements, use, now)
  const stale = sql.fragment`(last_used_at is null or last_used_at < ${instant(now - sameUseMs)})`
  await Promise.all([
    statements.query(sql.unsafe`
      update oauth_clients set last_used_at = ${instant(now)}
      where tenant_id = ${tenantId} and id = ${id} and ${stale}`),
    secretHash &&
      statements.query(sql.unsafe`
        update oauth_client_secrets set last_used_at = ${instant(now)}
        where tenant_id = ${tenantId} and client_id = ${id} and secret_hash = ${sql.binary(secretHash)} and ${stale}`),
  ])
}

const namedTenant = usableRow.pick({ tenant_slug: true, tenant_name: true })

async function findUsableManifestClient(
  read: Read,
  { tenantId, id }: ClientKey,
): Promise<UsableClient | null> {
  const [found, tenant] = await Promise.all([
    findManifestClient(read, id),
    read.maybeOne(sql.type(namedTenant)`
      select slug as tenant_slug, name as tenant_name from tenants where id = ${tenantId}`),
  ])
  if (!found?.is_active) return null
  const { fields, ...row } = found
  const whole = { ...defaultsOf(fields.kind), ...fields } as ClientFields
  const { tenant_slug = '', tenant_name = '' } = tenant ?? {}
  const ofTenant = { tenant_id: tenantId, tenant_slug, tenant_name, trust: null, trust_ends_at: null }
  return { ...whole, ...row, ...ofTenant, created_by: nilUuid, version: 1 }
}
