import { hash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import type { Test } from 'tap'

/** What an identity provider says otherwise than an honest one. */
export interface Lies {
  claims?: Record<string, unknown>
  /** Signs with a key that it does not publish. */
  foreignKey?: boolean
  unsigned?: boolean
  /** The `iss` of the answer (RFC 9207). */
  answersAs?: string
  userinfo?: Record<string, unknown>
  atHash?: string
  /** Of its token endpoint. */
  status?: number
  /** Its document of discovery. */
  metadata?: Record<string, unknown>
  /** Makes the ID token of the claims. */
  idToken?: (claims: JWTPayload, own: CryptoKey) => string | Promise<string>
  /** The answer of its token endpoint. */
  tokens?: Record<string, unknown>
  /** Whole answers, by path. */
  at?: Record<string, { status?: number; headers?: Record<string, string>; body?: unknown }>
}

/** An identity provider that signs everybody in as `person`, or lies. */
export interface Provider {
  issuer: string
  clientId: string
  clientSecret: string
  person: Record<string, unknown>
  lies: Lies
  /** Signs in at an authorization URL, and gives the address to which it leads back. */
  signIn(url: string): string
  /** The same for a person who says no there. */
  deny(url: string): string
  /** The bodies that its token endpoint got. */
  asked: URLSearchParams[]
  /** Its public key as PEM, and a key that it does not publish. */
  publicKey: string
  foreignKey: CryptoKey
}

/** Starts a provider of OpenID Connect on this machine, which ends with the test. */
export async function startProvider(t: Pick<Test, 'teardown'>): Promise<Provider> {
  const [own, foreign] = [await generateKeyPair('RS256'), await generateKeyPair('RS256')]
  const jwk = { ...(await exportJWK(own.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const codes = new Map<string, URLSearchParams>()
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`
  const provider: Provider = {
    issuer,
    clientId: 'bailiwick',
    clientSecret: 'shared-secret',
    person: { sub: 'ada-1', email: 'ada@nordwind.example', email_verified: true },
    lies: {},
    asked: [],
    publicKey: await exportSPKI(own.publicKey),
    foreignKey: foreign.privateKey,
    deny(url) {
      const asked = new URL(url).searchParams
      const back = new URL(asked.get('redirect_uri')!)
      const answer = { error: 'access_denied', state: asked.get('state')!, iss: issuer }
      back.search = new URLSearchParams(answer).toString()
      return back.href
    },
    signIn(url) {
      const asked = new URL(url).searchParams
      const code = randomUUID()
      codes.set(code, asked)
      const back = new URL(asked.get('redirect_uri')!)
      back.search = new URLSearchParams({
        code,
        state: asked.get('state')!,
        iss: provider.lies.answersAs ?? issuer,
      }).toString()
      return back.href
    },
  }
  const answers: Record<string, (request: IncomingMessage) => Promise<object>> = {
    '/.well-known/openid-configuration': async () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      authorization_response_iss_parameter_supported: true,
      ...provider.lies.metadata,
    }),
    '/jwks': async () => ({ keys: [jwk] }),
    '/userinfo': async () => ({ ...provider.person, ...provider.lies.userinfo }),
    '/token': async (request) => {
      const body = new URLSearchParams(await text(request))
      provider.asked.push(body)
      const asked = codes.get(body.get('code')!)
      codes.delete(body.get('code')!)
      if (!asked) throw new Error('no such code')
      const challenge = hash('sha256', body.get('code_verifier') ?? '', 'base64url')
      if (challenge !== asked.get('code_challenge')) throw new Error('another verifier')
      const claims = {
        ...provider.person,
        iss: issuer,
        aud: provider.clientId,
        nonce: asked.get('nonce'),
        iat: Math.floor(Date.now() / 1_000),
        exp: Math.floor(Date.now() / 1_000) + 300,
        auth_time: Math.floor(Date.now() / 1_000),
        ...(provider.lies.atHash && { at_hash: provider.lies.atHash }),
        ...provider.lies.claims,
      }
      const id_token = await sign(claims)
      return {
        access_token: 'access',
        token_type: 'Bearer',
        expires_in: 60,
        id_token,
        ...provider.lies.tokens,
      }
    },
  }
  const sign = (claims: Record<string, unknown>) => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    if (provider.lies.idToken) return provider.lies.idToken(claims, own.privateKey)
    if (provider.lies.unsigned) return `${part({ alg: 'none' })}.${part(claims)}.`
    const key = provider.lies.foreignKey ? foreign.privateKey : own.privateKey
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(key)
  }
  server.on('request', async (request, response) => {
    response.setHeader('content-type', 'application/json')
    const { pathname } = new URL(request.url!, issuer)
    const instead = provider.lies.at?.[pathname]
    if (instead) {
      const { status = 200, headers = {}, body = {} } = instead
      response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
      return
    }
    if (pathname === '/token') response.statusCode = provider.lies.status ?? 200
    try {
      // Microsoft describes itself below the name of a tenant.
      const answer = answers[pathname.replace(/^\/[\w-]+\/v2\.0/, '')]!
      response.end(JSON.stringify(await answer(request)))
    } catch (error) {
      response.statusCode = 400
      response.end(JSON.stringify({ error: 'invalid_grant', error_description: String(error) }))
    }
  })
  t.teardown(() => new Promise<void>((done) => server.close(() => done())))
  return provider
}
