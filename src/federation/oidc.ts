import { hash } from 'node:crypto'
import type { Configuration } from 'openid-client'
import type { Deps } from '../deps.ts'
import { callOutside, whyNotCalled } from './call-upstream.ts'
import { reasonOf, refusalFor } from './oidc-refusal.ts'
import { type Answer, type Asked, type Begun, UpstreamError } from './upstream.ts'

const limits = { ms: 10_000, bytes: 256 * 1024 }
const clockTolerance = 60
const discoveryPath = '/.well-known/openid-configuration'

type Claims = Readonly<Record<string, unknown>>

/** A client of a provider of OpenID Connect, or of OAuth 2.0. */
export interface OidcClient {
  issuer: string
  clientId: string
  clientSecret: string
  scopes: readonly string[]
  /** Instead of those that the provider names. */
  endpoints?: OidcEndpoints
  /** Of the authorization request, besides those of every provider. */
  parameters?: Readonly<Record<string, string>>
  /** The issuer of a token names the tenant of the person, as Microsoft's does. The caller checks it. */
  manyTenants?: boolean
  /** What counts is in the ID token alone. */
  withoutUserinfo?: boolean
  /** It speaks OAuth 2.0 alone, without discovery and ID tokens: `endpoints` has all that there are. */
  plain?: boolean
}

export interface OidcEndpoints {
  authorization?: string | undefined
  token?: string | undefined
  userinfo?: string | undefined
  jwks?: string | undefined
}

type OidcDeps = Pick<Deps, 'config'>
type Library = typeof import('openid-client')
type Tokens = Awaited<ReturnType<Library['authorizationCodeGrant']>>

/** Where the browser goes, and what {@link finishOidc} needs of it. Throws {@link UpstreamError}. */
export async function beginOidc(deps: OidcDeps, client: OidcClient, asked: Asked): Promise<Begun> {
  const library = await import('openid-client')
  const provider = await discover(deps, library, client)
  assertPage(deps, provider)
  const kept = { nonce: library.randomNonce(), verifier: library.randomPKCECodeVerifier() }
  const url = library.buildAuthorizationUrl(provider, {
    redirect_uri: asked.redirectUri,
    scope: client.scopes.join(' '),
    state: asked.state,
    ...(!client.plain && { nonce: kept.nonce }),
    code_challenge: await library.calculatePKCECodeChallenge(kept.verifier),
    code_challenge_method: 'S256',
    ...(asked.loginHint && { login_hint: asked.loginHint }),
    ...(asked.isFresh && { max_age: '0' }),
    ...client.parameters,
  })
  return { url: url.href, kept }
}

/**
 * Checks the answer of a provider, and gives the claims of its ID token, with those of its userinfo that the token does not have.
 * Throws {@link UpstreamError}.
 */
export const finishOidc = (
  deps: OidcDeps,
  client: OidcClient,
  answer: Answer,
): Promise<Claims & { iss: string; sub: string }> =>
  exchange(deps, client, answer, async (tokens, provider, library) => {
    const claims = tokens.claims()!
    assertOurs(client, claims)
    assertToken(tokens.id_token!, tokens.access_token, claims.at_hash)
    const more =
      provider.serverMetadata().userinfo_endpoint && !client.withoutUserinfo
        ? await library.fetchUserInfo(provider, tokens.access_token, claims.sub)
        : {}
    return { ...countingOf(more, claims), ...claims }
  })

/** Checks the answer of a `plain` provider, and gives the access token. Throws {@link UpstreamError}. */
export const finishOAuth = (deps: OidcDeps, client: OidcClient, answer: Answer): Promise<string> =>
  exchange(deps, client, answer, ({ access_token: token }) => token)

async function exchange<T>(
  deps: OidcDeps,
  client: OidcClient,
  { state, redirectUri, kept, parameters }: Answer,
  read: (tokens: Tokens, provider: Configuration, library: Library) => T | Promise<T>,
): Promise<T> {
  const library = await import('openid-client')
  const provider = await discover(deps, library, client)
  const answer = new URL(redirectUri)
  answer.search = parameters.toString()
  try {
    const tokens = await library.authorizationCodeGrant(provider, answer, {
      expectedState: state,
      pkceCodeVerifier: kept.verifier!,
      ...(!client.plain && { expectedNonce: kept.nonce!, idTokenExpected: true }),
    })
    return await read(tokens, provider, library)
  } catch (error) {
    throw refusalFor(error)
  }
}

/**
 * What counts of the userinfo, which nothing signs: how and when a person signed in, the ID token alone says. `email_verified` is about the
 * address beside it: that of the userinfo says nothing of the one in the token.
 */
function countingOf(userinfo: Claims, { email }: Claims): Claims {
  const { auth_time: _time, amr: _amr, acr: _acr, email_verified, ...more } = userinfo
  return email === undefined && email_verified !== undefined ? { ...more, email_verified } : more
}

/** Calls a provider. Throws {@link UpstreamError} if it gives no answer. */
export const askProvider = (
  { config }: OidcDeps,
  url: string,
  call: Parameters<typeof callOutside>[2],
): Promise<Response> =>
  callOutside(config, url, call, limits).catch((cause: Error) => {
    throw new UpstreamError('unreachable', `${url} cannot be used: ${cause.message}`, { cause })
  })

/** The library accepts an issuer that names a tenant for this address alone. */
const ofManyTenants = 'https://login.microsoftonline.com'

/** Reads what the provider says of itself, each time: nothing is kept that it changed since. */
async function discover(deps: OidcDeps, library: Library, client: OidcClient): Promise<Configuration> {
  const { issuer, clientId, clientSecret } = client
  const fetch = (url: string, { method, headers, body }: RequestOfLibrary) =>
    url.endsWith(discoveryPath)
      ? describe(deps, client)
      : askProvider(deps, url, {
          method,
          headers: Object.fromEntries(new Headers(headers)),
          body: body?.toString(),
        })
  const authentication: Parameters<Library['discovery']>[3] = (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    // In the header the library writes `-` and `.` as %2D and %2E (RFC 6749 §2.3.1), which not all providers read.
    const way = methods.includes('client_secret_post') ? library.ClientSecretPost : library.ClientSecretBasic
    return way(clientSecret)(server, ...rest)
  }
  try {
    const provider = await library.discovery(
      new URL(client.manyTenants ? ofManyTenants : issuer),
      clientId,
      { client_secret: clientSecret, [library.clockTolerance]: clockTolerance },
      authentication,
      {
        [library.customFetch]: fetch as never,
        // callOutside refuses http where the settings do not allow it.
        execute: [library.enableNonRepudiationChecks, library.allowInsecureRequests],
      },
    )
    return provider
  } catch (error) {
    throw new UpstreamError('unreachable', `The provider ${issuer} cannot be used: ${reasonOf(error)}`, {
      cause: error,
    })
  }
}

/** The document of discovery, with the endpoints that are set instead. */
async function describe(deps: OidcDeps, { issuer, endpoints = {}, plain }: OidcClient): Promise<Response> {
  const own = {
    authorization_endpoint: endpoints.authorization,
    token_endpoint: endpoints.token,
    userinfo_endpoint: endpoints.userinfo,
    jwks_uri: endpoints.jwks,
  }
  if (plain)
    return Response.json({ issuer, ...own, token_endpoint_auth_methods_supported: ['client_secret_post'] })
  const accept = { accept: 'application/json' }
  const answer = await askProvider(deps, issuer.replace(/\/?$/, discoveryPath), { headers: accept })
  const set = Object.entries(own).filter(([, url]) => url !== undefined)
  if (!answer.ok || set.length === 0) return answer
  return Response.json({ ...((await answer.json()) as object), ...Object.fromEntries(set) })
}

/** The browser of an owner goes there: a `javascript:` URL would run on the page that links to it. */
function assertPage({ config }: OidcDeps, provider: Configuration): void {
  const fault = whyNotCalled(provider.serverMetadata().authorization_endpoint ?? '', config)
  if (fault)
    throw new UpstreamError(
      'unreachable',
      `The authorization_endpoint of the provider cannot be used: ${fault}`,
    )
}

interface RequestOfLibrary {
  method: string
  headers: Record<string, string>
  body?: URLSearchParams | string | null
}

function assertOurs({ clientId }: OidcClient, { sub, azp, iat }: Claims): void {
  if (typeof sub !== 'string' || sub === '')
    throw new UpstreamError('refused', 'The ID token names no person: its sub is empty.')
  if (azp !== undefined && azp !== clientId)
    throw new UpstreamError(
      'refused',
      `The ID token is for the client ${String(azp)} (azp); this client is ${clientId}.`,
    )
  // The library compares the other times with this clock.
  if (Number(iat) > Date.now() / 1_000 + clockTolerance)
    throw new UpstreamError('refused', 'The ID token was made later than now (iat): look at the clocks.')
}

/** An ID token that has the hash of an access token belongs to this one (OpenID Connect Core 1.0, 3.1.3.8). */
function assertToken(idToken: string, accessToken: string, atHash: unknown): void {
  if (atHash === undefined) return
  const { alg } = JSON.parse(Buffer.from(idToken.split('.')[0]!, 'base64url').toString()) as { alg: string }
  const digest = hash(
    /256$/.test(alg) ? 'sha256' : /384$/.test(alg) ? 'sha384' : 'sha512',
    accessToken,
    'buffer',
  )
  if (digest.subarray(0, digest.length / 2).toString('base64url') !== atHash)
    throw new UpstreamError('refused', 'The ID token belongs to another access token (at_hash).')
}
