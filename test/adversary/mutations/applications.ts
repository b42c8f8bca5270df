// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are source code
import type { Mutation } from '../mutation.ts'

/** Mistakes in the code of OpenID Connect. */
export const applicationsMutations: readonly Mutation[] = [
  {
    what: 'an address that begins like the registered one will do',
    attacks: ['openid-fuzz'],
    file: 'src/oauth/clients/redirect-uris.ts',
    find: '  registered.includes(uri) ||',
    replace: '  registered.some((one) => uri.startsWith(one)) ||',
  },
  {
    what: 'no application needs PKCE',
    attacks: ['openid-fuzz'],
    file: 'src/oauth/provider.ts',
    find: 'required: (_ctx, client) => ownOf(client).requirePkce',
    replace: 'required: () => false',
  },
  {
    what: 'the organization of another tenant is ignored',
    attacks: ['openid-fuzz'],
    file: 'src/oauth/tenant-of-request.ts',
    find: 'if (named === null || named === tenantId || isOfManifest(id)) return',
    replace: 'return',
  },
  {
    what: 'any secret will do',
    attacks: ['openid-fuzz'],
    file: 'src/oauth/client-metadata.ts',
    find: "hashes.split(',').includes(hash.toString('hex')) ? hash : null",
    replace: "hashes === '' ? null : hash",
  },
  {
    what: 'a logout leads to any address',
    attacks: ['openid-fuzz'],
    file: 'src/oauth/logouts/log-out.ts',
    find: '  if (wanted !== null && !isRegistered(wanted, own!.postLogoutRedirectUris)) return null\n',
    replace: '',
  },
  {
    what: 'a pushed request is of every application',
    attacks: ['openid-foreign'],
    file: 'src/oauth/adapter.ts',
    find: '      if (isPushed && row.payload.clientId !== clientId()) return undefined\n',
    replace: '',
  },
  {
    what: 'any application polls for a device',
    attacks: ['openid-foreign'],
    file: 'src/oauth/devices/device-codes.ts',
    find: 'if (!row || isForeign) return undefined',
    replace: 'if (!row) return undefined',
  },
  {
    what: 'any application revokes a token',
    attacks: ['openid-foreign'],
    file: 'src/oauth/tokens/own-tokens.ts',
    find: 'token.clientId === client.clientId',
    replace: "token.clientId !== ''",
  },
  {
    what: 'any application introspects a token of an API',
    attacks: ['openid-fuzz', 'openid-foreign'],
    file: 'src/oauth/tokens/own-tokens.ts',
    find: 'if (!client || (tenantId !== nilUuid && ownOf(client).tenantId !== tenantId)) return undefined',
    replace: 'if (client) return client',
  },
  {
    what: 'a grant outlives the membership',
    attacks: ['openid-ends'],
    file: 'src/oauth/account.ts',
    find: 'membership?.id === membershipId &&\n',
    replace: '',
    also: [
      {
        file: 'src/tenancy/members/store.ts',
        find: '  await endGrantsOfMember(tx, { tenantId, userId }, at)\n',
        replace: '',
      },
    ],
  },
  {
    what: 'a grant outlives a suspended tenant',
    attacks: ['openid-ends'],
    file: 'src/oauth/account.ts',
    find: " && auth.tenant?.status === 'active'",
    replace: '',
    also: [
      {
        file: 'src/oauth/tokens/own-tokens.ts',
        find: '(await isDeniedByNow(deps, ctx, client, person, grant as OwnGrant)) ? null : person',
        replace: 'person',
      },
    ],
  },
  {
    what: 'a used code can be used again',
    attacks: ['races'],
    file: 'src/oauth/store.ts',
    find: "where id_hash = decode(${key}, 'hex') and consumed_at is null returning 1`",
    replace: "where id_hash = decode(${key}, 'hex') returning 1`",
  },
  {
    what: 'each use of a refresh token has a successor of its own',
    attacks: ['races'],
    file: 'src/oauth/adapt-library.ts',
    find: 'requestOf(library)?.oauth.unit?.consumed?.successor ?? newRefreshToken',
    replace: 'newRefreshToken',
    also: [
      {
        file: 'src/oauth/store.ts',
        find: "where id_hash = decode(${key}, 'hex') and consumed_at is null returning 1`",
        replace: "where id_hash = decode(${key}, 'hex') returning 1`",
      },
    ],
  },
  {
    what: 'members of other tenants see the applications',
    attacks: ['rows'],
    file: 'src/database/migrations/0145-oauth-clients.sql',
    find: 'create policy tenant_isolation on oauth_clients for all to bailiwick_api\n',
    replace:
      'create policy tenant_reads on oauth_clients for select to bailiwick_api using (true);\ncreate policy tenant_isolation on oauth_clients for all to bailiwick_api\n',
  },
]
