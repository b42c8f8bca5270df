import { z } from 'zod'
import { actions, isPermission, isServiceAction } from '../../policy-engine/catalogue/actions.ts'
import { written } from '../../request/body/known-members.ts'
import { bodyId, rfc3339, timestamp } from '../../request/body/schemas.ts'
import { permission } from '../../tenancy/roles/permissions.ts'
import { nameOf } from '../../tenancy/service-accounts/account-schemas.ts'
import { brandingOfClient } from '../../tenancy/tenants/branding.ts'
import { clientIdOf } from './client-id.ts'
import { fingerprintsOf, publicKeys } from './public-keys.ts'
import { atAnyPort } from './redirect-uris.ts'
import {
  authMethods,
  type ClientFields,
  type ClientRow,
  clientFields,
  clientKinds,
  grantTypes,
  groupKinds,
  idTokenAlgorithms,
  type SecretRow,
} from './store.ts'

/** The scopes that OpenID Connect and this service define. All others are permissions. */
export const identityScopes = [
  'openid',
  'profile',
  'email',
  'roles',
  'groups',
  'organization',
  'offline_access',
]

export const isIdentityScope = (scope: string): boolean => identityScopes.includes(scope)

/** Whether it is an action about oneself, which is no permission, that a key can do. */
const isOwnScope = (name: string): boolean =>
  isServiceAction(name) && !isPermission(name) && actions[name].tokens.includes('key' as never)

/** The permissions among scopes. Actions about oneself need none. */
export const permissionsAmong = (scopes: readonly string[]): string[] =>
  scopes.filter((scope) => !isIdentityScope(scope) && !isOwnScope(scope))

const scope = z.string('Give each scope as text.').superRefine((text, context) => {
  if (isIdentityScope(text) || isOwnScope(text)) return
  const isWildcard = text.endsWith(':*') || text.startsWith('installation:')
  const fault = isWildcard ? 'A scope names one permission of a tenant.' : faultOf(text)
  if (fault) context.addIssue({ code: 'custom', message: fault, input: text })
})

const faultOf = (text: string) => permission.safeParse(text).error?.issues[0]?.message

const scopes = z
  .array(scope, 'Give scopes as a list of texts.')
  .min(1, 'Name at least one scope.')
  .max(100, 'A client can have at most 100 scopes.')
  .transform((list) => [...new Set(list)])
  .meta({
    description: `What the client can ask for: ${identityScopes.join(', ')}, and permissions`,
    override: { type: 'array', items: { type: 'string', maxLength: 128 }, minItems: 1, maxItems: 100 },
  })

/** The scopes of what acts for no person: permissions. */
export const scopesOfMachine = scopes
  .refine((list) => !list.some(isIdentityScope), 'Name permissions alone: other scopes are about a person.')
  .meta({
    description: 'The permissions that its tokens can name',
    override: { type: 'array', items: { type: 'string', maxLength: 128 }, minItems: 1, maxItems: 100 },
  })

const uris = z
  .array(z.string('Give each URI as text.'), 'Give the URIs as a list of texts.')
  .max(50, 'A client can have at most 50 of these URIs.')
  .meta({
    example: ['https://app.example.com/callback'],
    override: { type: 'array', items: { type: 'string', maxLength: 2_000 }, maxItems: 50 },
  })

const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, `Give one of ${values.join(', ')}.`)

const editable = {
  name: nameOf('client'),
  redirect_uris: uris,
  post_logout_redirect_uris: uris,
  backchannel_logout_uri: z
    .string('Give backchannel_logout_uri as text, or null.')
    .nullable()
    .meta({
      description: 'Where it is told that a session has ended (OpenID Connect Back-Channel Logout 1.0)',
      override: { type: ['string', 'null'], maxLength: 2_000 },
    }),
  scopes,
  grant_types: z
    .array(oneOf(grantTypes), 'Give grant_types as a list.')
    .transform((list) => grantTypes.filter((one) => list.includes(one))),
  token_endpoint_auth_method: oneOf(authMethods),
  jwks: publicKeys.nullable(),
  jwks_uri: z.string('Give jwks_uri as text.').nullable().meta({
    description: 'Where the keys are, instead of `jwks`. They are read again after 60 s, or `max-age`',
  }),
  id_token_signed_response_alg: oneOf(idTokenAlgorithms).meta({
    description:
      'Signs its ID tokens, where discovery names it in `id_token_signing_alg_values_supported`; else the first one there does',
  }),
  require_pkce: z.boolean('Give require_pkce as true or false.'),
  require_par: z
    .boolean('Give require_par as true or false.')
    .meta({ description: 'Refuses requests that were not pushed to `/oauth/par` first' }),
  dpop_bound: z.boolean('Give dpop_bound as true or false.').meta({
    description:
      'Its tokens are bound to a key of its own (DPoP, RFC 9449): requests without a proof get none',
  }),
  first_party: z
    .boolean('Give first_party as true or false.')
    .meta({ description: 'People are not asked for their consent. Owners alone set it' }),
  groups: oneOf(groupKinds)
    .nullable()
    .meta({ description: 'What the claim `groups` has: names of roles, paths of departments, or both' }),
  branding: brandingOfClient.nullable().meta({
    description: 'What the pages look like while it asks people to sign in, over the branding of the tenant',
  }),
  service_account_id: bodyId
    .nullable()
    .meta({ description: 'Of the kind `machine`: the service account that it acts as' }),
  is_active: z.boolean('Give is_active as true or false.'),
}

const optional = <Shape extends Record<string, z.ZodType>>(shape: Shape) => z.object(shape).partial()

export const clientChange = optional(editable)
export type ClientChange = z.output<typeof clientChange>

export const clientSchema = z
  .object({
    id: z.string().meta({
      description: 'The `client_id` of the protocol',
      example: `bwa_${'0'.repeat(44)}`,
    }),
    ...clientFields,
    created_by: z.uuid(),
    created_at: timestamp,
    last_used_at: timestamp.nullable().meta({ description: 'To the minute' }),
  })
  .meta({ id: 'OAuthClient' })

/** A client as a manifest has it. The account of a machine is of one tenant. */
export const manifestClient = clientChange.omit({ service_account_id: true }).extend({
  name: editable.name,
  kind: oneOf(['web', 'spa', 'native', 'device']).default('web'),
})

export const newClient = written(
  clientChange.extend({ name: editable.name, kind: oneOf(clientKinds).default('web') }),
  { shownAs: clientSchema },
)
export type NewClient = z.output<typeof newClient>

export const showClient = ({ tenant_id: tenantId, ...row }: ClientRow) => ({
  id: clientIdOf({ tenantId, id: row.id }),
  ...settingsOf(row),
  token_endpoint_auth_method: row.token_endpoint_auth_method,
  jwks: row.jwks,
  id_token_signed_response_alg: row.id_token_signed_response_alg,
  created_by: row.created_by,
  created_at: rfc3339(row.created_at),
  last_used_at: row.last_used_at === null ? null : rfc3339(row.last_used_at),
})

/** The fields of a client that the audit log records. It takes no names that look like those of secrets. */
export const auditedClient = (row: ClientFields) => ({
  ...settingsOf(row),
  authentication: row.token_endpoint_auth_method,
  public_keys: row.jwks && fingerprintsOf(row.jwks.keys),
  signing_algorithm: row.id_token_signed_response_alg,
})

const settingsOf = (row: ClientFields) => ({
  name: row.name,
  kind: row.kind,
  redirect_uris: row.redirect_uris,
  post_logout_redirect_uris: row.post_logout_redirect_uris,
  backchannel_logout_uri: row.backchannel_logout_uri,
  scopes: row.scopes,
  grant_types: row.grant_types,
  jwks_uri: row.jwks_uri,
  require_pkce: row.require_pkce,
  require_par: row.require_par,
  dpop_bound: row.dpop_bound,
  first_party: row.first_party,
  groups: row.groups,
  branding: row.branding,
  service_account_id: row.service_account_id,
  is_active: row.is_active,
})

/** A client as a resource in policies, by the id that people know. It has no owner. */
export const clientResource = (row: ClientRow) => {
  const fields = showClient(row)
  const hosts = new Set(row.redirect_uris.map(redirectHost))
  // While a person signs in it is that of the request.
  return {
    type: 'oauth_client',
    id: fields.id,
    fields: { ...fields, ...(hosts.size === 1 && { redirect_host: [...hosts][0] }) },
  }
}

/**
 * Where a redirect URI leads: its host, without the port on loopback, or the scheme of an application; empty for devices, and
 * machines, which have none.
 */
export function redirectHost(uri: unknown): string {
  if (uri === undefined) return ''
  const { host, protocol } = new URL(atAnyPort(String(uri)))
  return host || protocol
}

export const secretSchema = z
  .object({
    id: z.uuid(),
    created_at: timestamp,
    last_used_at: timestamp.nullable().meta({ description: 'To the minute' }),
  })
  .meta({ id: 'OAuthClientSecret' })

export const newSecretSchema = secretSchema.extend({
  secret: z.string().meta({ description: 'The secret, which is not shown again' }),
})

export const showSecret = (row: SecretRow) => ({
  id: row.id,
  created_at: rfc3339(row.created_at),
  last_used_at: row.last_used_at === null ? null : rfc3339(row.last_used_at),
})
