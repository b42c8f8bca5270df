import type { ClientFields, ClientKind } from './store.ts'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** The grant that a client of a kind begins with. */
export const begins = (kind: ClientKind) =>
  kind === 'device'
    ? deviceGrant
    : kind === 'machine'
      ? ('client_credentials' as const)
      : ('authorization_code' as const)

/** Whether clients of a kind can keep a secret. */
export const keepsSecrets = (kind: ClientKind): boolean => kind === 'web' || kind === 'machine'

/** What a client of a kind is, if its editor says nothing else. */
export const defaultsOf = (kind: ClientKind) => ({
  redirect_uris: [],
  post_logout_redirect_uris: [],
  backchannel_logout_uri: null,
  scopes: kind === 'machine' ? [] : ['openid', 'profile', 'email', 'offline_access'],
  grant_types: (kind === 'machine'
    ? [begins(kind)]
    : [begins(kind), 'refresh_token']) satisfies ClientFields['grant_types'],
  token_endpoint_auth_method: keepsSecrets(kind) ? ('client_secret_basic' as const) : ('none' as const),
  id_token_signed_response_alg: 'RS256' as const,
  jwks: null,
  jwks_uri: null,
  require_pkce: !keepsSecrets(kind),
  require_par: false,
  dpop_bound: false,
  first_party: false,
  groups: null,
  branding: null,
  service_account_id: null,
  is_active: true,
})
