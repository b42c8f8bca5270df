import { type FieldError, validationError } from '../../errors.ts'
import { whyNotCalled } from '../../federation/call-upstream.ts'
import type { Caller } from '../../request/caller.ts'
import type { Config } from '../../settings/config.ts'
import { assertHolds, holderOf, isOwner, refused } from '../../tenancy/roles/grantable-roles.ts'
import { begins } from './client-defaults.ts'
import { permissionsAmong } from './client-schemas.ts'
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
  if (kind === 'device' && client.redirect_uris.length > 0)
    yield ['redirect_uris', 'No browser returns to a device: give none.']
  if (kind !== 'device' && client.redirect_uris.length === 0)
    yield ['redirect_uris', 'Give at least one redirect URI.']
  const grant = begins(kind)
  if (!client.grant_types.includes(grant)) yield ['grant_types', `People sign in by ${grant}: name it.`]
  if (client.grant_types.some((one) => one !== grant && one !== 'refresh_token'))
    yield ['grant_types', `A client of the kind ${kind} has ${grant} and refresh_token alone.`]
  for (const field of ['redirect_uris', 'post_logout_redirect_uris'] as const)
    for (const [i, uri] of client[field].entries()) {
      const fault = whyNoRedirect(uri, kind)
      if (fault) yield [`${field}.${i}`, fault]
    }
  const { backchannel_logout_uri: logoutUri } = client
  const unreachable = logoutUri === null ? undefined : whyNotCalled(logoutUri, config)
  if (unreachable) yield ['backchannel_logout_uri', unreachable]
  const isPublic = client.token_endpoint_auth_method === 'none'
  if ((kind !== 'web') !== isPublic)
    yield [
      'token_endpoint_auth_method',
      isPublic
        ? 'A web client has a secret.'
        : `A client of the kind ${kind} cannot keep a secret: use none.`,
    ]
  if (kind !== 'web' && !client.require_pkce)
    yield ['require_pkce', `A client of the kind ${kind} has no secret, so it needs PKCE (RFC 9700 §2.1.1).`]
  yield* faultsOfKeys(client, config)
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
