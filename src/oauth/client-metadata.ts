import { clientIdOf } from './clients/client-id.ts'
import { type UsableClient, usesSecrets } from './clients/store.ts'

/** A JWT of another issuer for a token (RFC 7523 §2.1). */
export const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** What this service knows of a client beyond the protocol. */
export interface OwnClient {
  tenantId: string
  id: string
  tenant: { id: string; slug: string; name: string }
  kind: UsableClient['kind']
  scopes: readonly string[]
  postLogoutRedirectUris: readonly string[]
  groups: UsableClient['groups']
  serviceAccountId: string | null
  firstParty: boolean
  requirePkce: boolean
  /** Of a trust: whose JWTs count, until when (ms since 1970). */
  trust: UsableClient['trust']
  trustEndsAt: number | null
  consentsFrom: number
}

/** What this service knows of a client of the library. */
export const ownOf = (client: unknown): OwnClient => (client as { own: OwnClient }).own

/** A client as the library reads it. Its secret stands for the hashes of the secrets: see {@link hashAmong}. */
export function metadataOf(client: UsableClient, algorithms: readonly string[]) {
  const { tenant_id: tenantId, id } = client
  const own: OwnClient = {
    tenantId,
    id,
    tenant: { id: tenantId, slug: client.tenant_slug, name: client.tenant_name },
    kind: client.kind,
    scopes: client.scopes,
    postLogoutRedirectUris: client.post_logout_redirect_uris,
    groups: client.groups,
    serviceAccountId: client.service_account_id,
    firstParty: client.first_party,
    requirePkce: client.require_pkce,
    trust: client.trust,
    trustEndsAt: client.trust_ends_at,
    consentsFrom: client.consents_from,
  }
  return {
    client_id: clientIdOf({ tenantId, id }),
    client_name: client.name,
    application_type: client.kind === 'native' ? 'native' : 'web',
    redirect_uris: client.redirect_uris,
    response_types: /^(device|machine)$/.test(client.kind) ? [] : ['code'],
    grant_types: client.trust ? [assertionGrant] : client.grant_types,
    token_endpoint_auth_method: client.token_endpoint_auth_method,
    ...(usesSecrets(client) && { client_secret: client.secret_hashes.join(',') || 'none' }),
    ...(client.jwks && { jwks: client.jwks }),
    ...(client.jwks_uri && { jwks_uri: client.jwks_uri }),
    require_pushed_authorization_requests: client.require_par,
    dpop_bound_access_tokens: client.dpop_bound,
    id_token_signed_response_alg: algorithmOf(client, algorithms),
    own,
  }
}

/** The algorithm that signs for a client, among those that the service has. */
export const algorithmOf = (
  { id_token_signed_response_alg: wanted }: Pick<UsableClient, 'id_token_signed_response_alg'>,
  algorithms: readonly string[],
): string => (algorithms.includes(wanted) ? wanted : algorithms[0]!)

/** The hash among those of a client that a secret has; null for a wrong one. */
export const hashAmong = (hashes: string, hash: Buffer): Buffer | null =>
  hashes.split(',').includes(hash.toString('hex')) ? hash : null
