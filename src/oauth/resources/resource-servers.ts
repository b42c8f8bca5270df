import type { Configuration } from 'oidc-provider'
import { nilUuid } from '../../crypto/uuid.ts'
import { readInTenant } from '../../database/executor/read.ts'
import type { PageDeps } from '../../pages/sign-in/calls.ts'
import type { AuthContext } from '../../request/caller.ts'
import { type OwnClient, ownOf } from '../client-metadata.ts'
import type { ProviderKeys } from '../provider-keys.ts'
import type { Library, OidcContext } from '../provider-types.ts'
import { isHeld } from '../tokens/held-scopes.ts'
import { askingAccount } from '../tokens/machine-tokens.ts'
import { apiIdentifier, isFree } from './check-resource.ts'
import { findByIdentifier } from './store.ts'

/** How long an access token works, in s. */
export const accessTokenSeconds = 900

/** A person, as the library keeps them for a request. */
export interface OwnAccount {
  person?: AuthContext
}

/**
 * What access tokens can be for (RFC 8707): the API of this service, and the resources of the client's tenant. A token has the
 * scopes that the resource, the client and the person have now.
 */
export function resourceIndicators(
  { deps, library }: { deps: PageDeps; library: Library },
  { accessTokens }: ProviderKeys,
): NonNullable<Configuration['features']>['resourceIndicators'] {
  return {
    enabled: true,
    // A machine has no other use for a token.
    defaultResource: async (_ctx, client, granted) =>
      granted ?? (ownOf(client).kind === 'machine' ? apiIdentifier(deps) : (granted as never)),
    // A request that names no resource gets the one that was authorized.
    useGrantedResource: async () => true,
    async getResourceServerInfo(ctx, identifier, client) {
      const own = ownOf(client)
      const offered = await scopesAt(deps, own, identifier)
      if (!offered) throw new library.errors.InvalidTarget('The client has no such resource')
      const person =
        own.kind === 'machine'
          ? await askingAccount({ deps, library }, ctx as OidcContext, client as never, identifier)
          : (ctx.oidc.account as OwnAccount | undefined)?.person
      const scopes = offered.filter(
        (scope) => own.scopes.includes(scope) && (!person || isHeld(memberOf(person), scope)),
      )
      return {
        scope: scopes.join(' '),
        audience: identifier,
        accessTokenTTL: accessTokenSeconds,
        accessTokenFormat: 'jwt',
        jwt: { sign: accessTokens as never },
      }
    },
  }
}

/** The scopes that a client of a tenant can have at a resource; null if there is no such one. */
async function scopesAt(
  deps: PageDeps,
  client: OwnClient,
  identifier: string,
): Promise<readonly string[] | null> {
  if (identifier === apiIdentifier(deps)) return client.scopes.filter((scope) => scope !== 'offline_access')
  const { tenantId } = client
  const scope = { tenantId, userId: nilUuid }
  const found = await readInTenant(deps.db, scope, (read) => findByIdentifier(read, tenantId, identifier))
  return found && isFree(deps, identifier) ? found.scopes.map(({ permission }) => permission) : null
}

const memberOf = ({ membership }: AuthContext) => ({
  systemRoles: membership?.systemRoles ?? [],
  permissions: membership?.permissions ?? [],
})
