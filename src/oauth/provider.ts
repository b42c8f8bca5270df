import type { Configuration } from 'oidc-provider'
import { isUuid } from '../crypto/uuid.ts'
import type { Calls, PageDeps } from '../pages/sign-in/calls.ts'
import type { WritePage } from '../pages/sign-in/write-page.ts'
import { proofAlgorithms } from '../request/dpop-proof.ts'
import { html } from '../text/html.ts'
import { accessCalls } from './access/decide-access.ts'
import { claimsOf, claimsOfScopes } from './account.ts'
import { adaptLibrary } from './adapt-library.ts'
import { modelAdapter } from './adapter.ts'
import { metadataOf, ownOf } from './client-metadata.ts'
import { readClientId } from './clients/client-id.ts'
import { identityScopes } from './clients/client-schemas.ts'
import { assertionAlgorithms } from './clients/public-keys.ts'
import { authMethods } from './clients/store.ts'
import { deviceCodes, deviceSeconds } from './devices/device-codes.ts'
import { deviceFlow } from './devices/device-flow.ts'
import { ownState, settle } from './due.ts'
import { keyFetcher } from './fetch-keys.ts'
import { interactionsOf } from './interactions.ts'
import { noteUse } from './note-use.ts'
import type { ProviderKeys } from './provider-keys.ts'
import { type Library, type OidcContext, type OwnGrant, type Provider, requestOf } from './provider-types.ts'
import { type Presented, refreshTokenSeconds, usableClient } from './request-unit.ts'
import { accessTokenSeconds, resourceIndicators } from './resources/resource-servers.ts'
import type { ModelKind } from './store.ts'
import { ownClient, requestCheck } from './tenant-of-request.ts'
import { machineTokens, nameAccounts } from './tokens/machine-tokens.ts'
import { claimsOfToken, type KnownToken, ownTokens, personOf } from './tokens/own-tokens.ts'
import { keepStructuredTokens } from './tokens/structured-tokens.ts'
import { type GrantHandler, takeAssertions, trustNamed } from './trusts/assertion-grant.ts'

/** How long a request may stay on the pages, in s. */
export const interactionSeconds = 900

interface Parts {
  deps: PageDeps
  calls: Calls
  library: Library
  writePage: WritePage
}

/** The library's provider with these keys. Keys that rotate make a new one. */
export function makeProvider(parts: Parts, keys: ProviderKeys): Provider {
  const { jwks, algorithms } = keys
  const issuer = parts.deps.publicUrl()
  const access = accessCalls(parts.deps, parts.calls)
  // The library gives no other way to its own grants.
  const handlers = new Map<string, GrantHandler>()
  class WithGrants extends parts.library.Provider {
    override registerGrantType(...given: never[]): void {
      const [name, handler] = given as unknown as [string, GrantHandler]
      handlers.set(name, handler)
      super.registerGrantType(...(given as unknown as Parameters<Provider['registerGrantType']>))
    }
  }
  const provider: Provider = new WithGrants(issuer, {
    ...fixed,
    jwks: jwks as never,
    enabledJWA: {
      idTokenSigningAlgValues: algorithms as never,
      clientAuthSigningAlgValues: [...assertionAlgorithms],
      dPoPSigningAlgValues: [...proofAlgorithms],
    },
    fetch: keyFetcher(parts.deps.config),
    // By the clock of the library, which has checked that it has not ended.
    assertJwtClientAuthClaimsAndHeader: async (_ctx, { exp }) => {
      if (Number(exp) > Date.now() / 1000 + 3_600)
        throw new parts.library.errors.InvalidClientAuth('An assertion ends within an hour')
    },
    adapter: adapterOf(parts, algorithms),
    extraParams: { organization: requestCheck(parts), connection: null, domain_hint: null },
    findAccount: accountFinder(parts),
    loadExistingGrant: (ctx) => settle({ ...parts, access, ctx }, provider),
    interactions: interactionsOf(parts.library, issuer),
    renderError: (ctx, out) => renderError(parts, ctx as OidcContext, { ...out }),
    features: {
      ...fixed.features,
      ...ownTokens(parts),
      deviceFlow: deviceFlow(parts.writePage),
      // The same in each process. A client whose clock is wrong gets one.
      dPoP: {
        enabled: true,
        nonceSecret: parts.deps.sealer.macs('oauth-nonce', issuer)[0],
        requireNonce: () => false,
      },
      resourceIndicators: resourceIndicators(parts, keys),
    },
    extraTokenClaims: async ({ oidc }, token) => claimsOfToken(token, oidc.grant),
    discovery: {
      end_session_endpoint: `${issuer}/oauth/logout`,
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
    },
  } satisfies Configuration)
  adaptLibrary(provider, parts)
  takeAssertions(provider, { ...parts, machine: (ctx) => handlers.get('client_credentials')!(ctx) })
  keepStructuredTokens(provider)
  nameAccounts(provider, parts.library)
  return provider
}

const off = { enabled: false }

/** What needs nothing of the service. Discovery names only what is on. */
const fixed = {
  routes: {
    authorization: '/oauth/authorize',
    pushed_authorization_request: '/oauth/par',
    device_authorization: '/oauth/device_authorization',
    code_verification: '/oauth/device',
    token: '/oauth/token',
    userinfo: '/oauth/userinfo',
    jwks: '/.well-known/jwks.json',
    introspection: '/oauth/introspect',
    revocation: '/oauth/revoke',
  },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: off,
    pushedAuthorizationRequests: { enabled: true },
    rpInitiatedLogout: off,
    userinfo: { enabled: true },
  },
  scopes: identityScopes,
  claims: claimsOfScopes,
  responseTypes: ['code'],
  subjectTypes: ['public'],
  clientAuthMethods: authMethods,
  acrValues: ['aal1', 'aal2'],
  extraClientMetadata: { properties: ['own'] },
  allowOmittingSingleRegisteredRedirectUri: false,
  conformIdTokenClaims: false,
  // Those who introspect are servers.
  clientBasedCORS: ({ oidc }) => oidc.route !== 'introspection',
  // A row ends with its session, and each use asks the session: the library need not.
  expiresWithSession: async () => false,
  issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  // An access token ends alone when its client says so (RFC 7009 §2.1), but one that a resource reads without asking.
  revokeGrantPolicy: ({ oidc }) =>
    oidc.route !== 'revocation' || !oidc.entities.AccessToken || oidc.entities.AccessToken.aud !== undefined,
  pkce: { required: (_ctx, client) => ownOf(client).requirePkce },
  cookies: {
    names: { interaction: 'bailiwick-request', resume: 'bailiwick-resume', session: 'bailiwick-none' },
  },
  ttl: {
    AccessToken: accessTokenSeconds,
    AuthorizationCode: 60,
    ClientCredentials: accessTokenSeconds,
    DeviceCode: deviceSeconds,
    IdToken: 3_600,
    RefreshToken: refreshTokenSeconds,
    Grant: 10 * 365 * 86_400,
    Interaction: interactionSeconds,
    Session: interactionSeconds,
  },
} satisfies Configuration

function adapterOf({ deps, library }: Parts, algorithms: readonly string[]): Configuration['adapter'] {
  const refusals = {
    used: (kind: ModelKind) =>
      kind === 'PushedAuthorizationRequest'
        ? new library.errors.InvalidRequestUri('It was used already')
        : new library.errors.InvalidGrant('It was used already'),
    clientId: () => library.Provider.ctx?.oidc.client?.clientId,
    tenantId: () => {
      const ctx = library.Provider.ctx as OidcContext | undefined
      return ctx?.oidc.client && ownClient(ctx).tenantId
    },
    state: () => requestOf(library),
    isRevocation: () => (library.Provider.ctx as OidcContext | undefined)?.oidc.route === 'revocation',
  }
  const device = {
    route: () => library.Provider.ctx?.oidc.route,
    clientId: refusals.clientId,
    tenantId: refusals.tenantId,
    slowDown: () => new library.errors.SlowDown(),
    unit: () => requestOf(library)?.oauth.unit ?? null,
  }
  return (name) => {
    if (name === 'DeviceCode') return deviceCodes(deps, device)
    if (name === 'ClientCredentials') return machineTokens(deps)
    if (name !== 'Client') return modelAdapter(deps, name as ModelKind, refusals)
    const find = async (id: string) => {
      const key = readClientId(id) ?? (await trustOf(deps, library.Provider.ctx as never, id))
      const unit = requestOf(library)?.oauth.unit ?? null
      const client = key && (await usableClient(deps, unit, key, presentedIn(library.Provider.ctx as never)))
      return client ? metadataOf(client, algorithms) : undefined
    }
    return { find } as never
  }
}

/** The trust of the service account that a request with an assertion names. */
const trustOf = (deps: PageDeps, ctx: OidcContext | undefined, id: string) =>
  isUuid(id) ? trustNamed(deps, id, ctx?.oidc.params?.assertion) : null

/** The code or token that the client of a request presents. */
function presentedIn(ctx: OidcContext | undefined): Presented | null {
  const { code, refresh_token, token } = ctx?.oidc.params ?? {}
  const value = code ?? refresh_token ?? token
  return typeof value === 'string' ? { value, renews: value === refresh_token } : null
}

/** The person of a code or token; of the browser, while they sign in. */
function accountFinder(parts: Parts): NonNullable<Configuration['findAccount']> {
  const { deps } = parts
  return async (ctx, userId, token) => {
    if (!token) return { accountId: userId, claims: async () => ({ sub: userId }) }
    const person = await personOf(parts, ctx, ctx.oidc.client, token as KnownToken)
    if (!person) return undefined
    const client = ownClient(ctx)
    // The check of a secret notes the use.
    if (ctx.oidc.client?.clientSecret === undefined)
      await noteUse(deps, ownState(ctx).unit, { client, secretHash: null })
    return {
      accountId: userId,
      person,
      async claims(_use, scope) {
        const { auth } = ctx.oidc.entities.Grant as unknown as OwnGrant
        const asked = { client, auth, scopes: new Set(scope.split(' ')) }
        return { ...(await claimsOf(deps, person, asked)), sub: userId }
      },
    }
  }
}

/** A page for people whose application made a request that cannot be answered; JSON for programs. */
async function renderError(
  { writePage }: Parts,
  ctx: OidcContext,
  out: Record<string, unknown>,
): Promise<void> {
  if (!/^(authorization|resume)$/.test(ctx.oidc.route)) {
    ctx.body = out
    return
  }
  const { error, error_description: detail } = out
  const says = ({ texts: { application } }: { texts: { application: { title: string; lead: string } } }) => ({
    title: application.title,
    content: html`<p>${application.lead}</p>\n<p><code>${String(error)}</code> ${String(detail ?? '')}</p>`,
  })
  await writePage(ctx, says, ctx.status)
}
