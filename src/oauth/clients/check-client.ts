import { type FieldError, validationError } from '../../errors.ts'
import { whyNotCalled } from '../../federation/call-upstream.ts'
import type { Caller } from '../../request/caller.ts'
import type { Config } from '../../settings/config.ts'
import { assertHolds, holderOf, isOwner, refused } from '../../tenancy/roles/grantable-roles.ts'
import { begins, defaultsOf, keepsSecrets } from './client-defaults.ts'
import { isIdentityScope, permissionsAmong } from './client-schemas.ts'
import { whyNoRedirect } from './redirect-uris.ts'
import type { ClientFields } from './store.ts'

/** Throws 400 for fields that do not go together. */
export function assertSound(client: ClientFields, config: Config): void {
  const faults = [...faultsOf(client, config)].map(
    ([field, detail]): FieldError => ({ field, code: 'invalid', detail }),
  )
  if (faults.length > 0) throw validationError(...faults)
}

/** What does not go together, by field. */
export function* faultsOf(client: ClientFields, config: Config): Generator<[field: string, detail: string]> {
  const { kind } = client
  const returns = kind !== 'device' && kind !== 'machine'
  if (!returns && client.redirect_uris.length > 0)
    yield ['redirect_uris', `No browser returns to a ${kind}: give none.`]
  if (returns && client.redirect_uris.length === 0) yield ['redirect_uris', 'Give at least one redirect URI.']
  const grants = defaultsOf(kind).grant_types
  if (!client.grant_types.includes(begins(kind)))
    yield ['grant_types', `A client of the kind ${kind} begins with ${begins(kind)}: name it.`]
  if (client.grant_types.some((one) => !grants.includes(one)))
    yield ['grant_types', `A client of the kind ${kind} has ${grants.join(' and ')} alone.`]
  yield* kind === 'machine' ? faultsOfMachine(client) : faultsOfAccount(client)
  for (const field of ['redirect_uris', 'post_logout_redirect_uris'] as const)
    for (const [i, uri] of client[field].entries()) {
      const fault = whyNoRedirect(uri, kind)
      if (fault) yield [`${field}.${i}`, fault]
    }
  const { backchannel_logout_uri: logoutUri } = client
  const unreachable = logoutUri === null ? undefined : whyNotCalled(logoutUri, config)
  if (unreachable) yield ['backchannel_logout_uri', unreachable]
  const isPublic = client.token_endpoint_auth_method === 'none'
  if (keepsSecrets(kind) === isPublic)
    yield [
      'token_endpoint_auth_method',
      isPublic
        ? `A ${kind} client has a secret, or a key.`
        : `A client of the kind ${kind} cannot keep a secret: use none.`,
    ]
  if (!keepsSecrets(kind) && !client.require_pkce)
    yield ['require_pkce', `A client of the kind ${kind} has no secret, so it needs PKCE (RFC 9700 §2.1.1).`]
  yield* faultsOfKeys(client, config)
}

function* faultsOfAccount({
  kind,
  service_account_id: account,
}: ClientFields): Generator<[field: string, detail: string]> {
  if (account !== null) yield ['service_account_id', `People use a client of the kind ${kind}: give null.`]
}

/** A machine acts for no person, so nothing of a sign-in is for it. */
function* faultsOfMachine(client: ClientFields): Generator<[field: string, detail: string]> {
  const { service_account_id: account, scopes } = client
  if (account === null) yield ['service_account_id', 'Give the service account that the machine acts as.']
  if (scopes.length === 0) yield ['scopes', 'Name the permissions that the machine can ask for.']
  for (const [i, scope] of scopes.entries())
    if (isIdentityScope(scope)) yield [`scopes.${i}`, `${scope} is about a person: name permissions alone.`]
  if (client.post_logout_redirect_uris.length > 0)
    yield ['post_logout_redirect_uris', 'No browser returns to a machine: give none.']
  if (client.backchannel_logout_uri !== null)
    yield ['backchannel_logout_uri', 'A machine has no session that could end: give null.']
  if (client.first_party) yield ['first_party', 'No person consents to a machine: give false.']
  if (client.branding !== null) yield ['branding', 'No person sees a machine: give null.']
}

function* faultsOfKeys(
  { token_endpoint_auth_method: method, jwks, jwks_uri: uri }: ClientFields,
  config: Config,
): Generator<[field: string, detail: string]> {
  const isSigned = method === 'private_key_jwt'
  if (isSigned && !jwks && !uri) yield ['jwks', 'Give the public keys of private_key_jwt, or jwks_uri.']
  if (jwks && uri) yield ['jwks_uri', 'Give jwks or jwks_uri, and null for the other one.']
  for (const [field, value] of Object.entries({ jwks, jwks_uri: uri }))
    if (value && !isSigned) yield [field, 'Keys are for private_key_jwt alone: give null.']
  const fault = uri && whyNotCalled(uri, config)
  if (fault) yield ['jwks_uri', fault]
}

/**
 * Throws 403 for a client with permissions that its editor lacks, and for one that its editor may not make first-party:
 * owners alone may, because people are not asked for their consent.
 */
export function assertMayEdit(caller: Caller, client: ClientFields, before: ClientFields | null): void {
  assertHolds(holderOf(caller), permissionsAmong(client.scopes))
  if (client.first_party && !before?.first_party && !isOwner(holderOf(caller)))
    throw refused('Owners alone can make a client first-party.')
}

/** Whether an editor's change of where or how a client answers keeps it first-party. */
export const keepsFirstParty = (caller: Caller): boolean => isOwner(holderOf(caller))
