import { type CryptoKey, SignJWT } from 'jose'
import type { Lies, Provider } from './provider.ts'

/** An answer that must be refused. */
export interface Forgery {
  name: string
  /** Of the provider, once the sign-in has begun; `early`: already when it begins. */
  lies?: Lies
  early?: boolean
  /** Changes what the browser brings. */
  parameters?: (brought: URLSearchParams) => void
  /** Changes what was kept, given what another sign-in kept. */
  kept?: (own: Record<string, string>, other: Record<string, string>) => Record<string, string>
  /** Words of the reason. */
  because: RegExp
}

const now = () => Math.floor(Date.now() / 1_000)
const huge = { body: { padding: 'x'.repeat(300 * 1_024) } }
const moved = { status: 302, headers: { location: '/elsewhere' } }
const html = { headers: { 'content-type': 'text/html' }, body: '<p>sorry' }
const privateUrl = 'https://127.0.0.1:9/there'
const metadataUrl = 'http://169.254.169.254/latest'

/** Everything that is tried on a client of OpenID Connect. */
export function forgeries({ issuer, clientId, clientSecret, publicKey, foreignKey }: Provider): Forgery[] {
  const signed =
    (header: object, key?: CryptoKey | Uint8Array): Lies['idToken'] =>
    (claims, own) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: 'one', ...header })
        .sign((key ?? own) as never)
  const bytes = (text: string) => new TextEncoder().encode(text)
  const claims = (name: string, said: Record<string, unknown>, because: RegExp): Forgery => ({
    name,
    lies: { claims: said },
    because,
  })
  const named = (name: string, sub: string, because: RegExp): Forgery => ({
    name,
    lies: { claims: { sub }, userinfo: { sub } },
    because,
  })
  const brought = (name: string, parameters: Forgery['parameters'], because: RegExp): Forgery => ({
    name,
    parameters: parameters!,
    because,
  })
  const at = (
    name: string,
    path: string,
    answer: NonNullable<Lies['at']>[string],
    because: RegExp,
  ): Forgery => ({
    name,
    lies: { at: { [path]: answer } },
    because,
  })
  const discovery = '/.well-known/openid-configuration'
  const described = (name: string, metadata: object, because: RegExp, early = false): Forgery => ({
    name,
    lies: { metadata: { ...metadata } },
    early,
    because,
  })

  return [
    brought('another state', (p) => p.set('state', 'another'), /unexpected "state"/),
    brought('no state', (p) => p.delete('state'), /"state" missing/),
    brought('an empty state', (p) => p.set('state', ''), /"state"/),
    brought(
      'two states',
      (p) => p.append('state', 'another'),
      /"state" parameter must be provided only once/,
    ),
    brought('the issuer of another provider (mix-up)', (p) => p.set('iss', 'https://other.example'), /"iss"/),
    brought('no issuer, although it says that it sends one', (p) => p.delete('iss'), /"iss" .*missing/),
    brought('two issuers', (p) => p.append('iss', issuer), /"iss" parameter must be provided only once/),
    brought('no code', (p) => p.delete('code'), /no authorization code/),
    brought('two codes', (p) => p.append('code', 'another'), /"code" parameter must be provided only once/),
    brought('a code that the provider did not give', (p) => p.set('code', 'another'), /invalid_grant/),
    brought('an answer as a token (JARM)', (p) => p.set('response', 'e30.e30.'), /JARM/),
    brought('an ID token from the browser', (p) => p.set('id_token', 'e30.e30.'), /unsupported operation/),
    brought('an error beside the code', (p) => p.set('error', 'server_error'), /server_error/),
    brought('two errors', (p) => ['a', 'b'].map((e) => p.append('error', e)), /"error" parameter must be/),
    {
      name: 'the nonce of another sign-in',
      kept: (own, { nonce }) => ({ ...own, nonce: nonce! }),
      because: /has the nonce/,
    },
    {
      name: 'the code of another sign-in (PKCE)',
      kept: (own, { verifier }) => ({ ...own, verifier: verifier! }),
      because: /another verifier/,
    },

    at('a token endpoint that leads elsewhere', '/token', moved, /status code/),
    at('a token endpoint that fails', '/token', { status: 500 }, /status code/),
    at('a token endpoint that gives a page', '/token', html, /content-type/),
    at('a token endpoint that gives 300 KiB', '/token', huge, /more than 262144 bytes/),
    at('a token endpoint that gives half of a JSON text', '/token', { body: '{"access_token":' }, /parsing/),
    at('a token endpoint that gives a list', '/token', { body: [] }, /invalid response/),
    at('an error with status 200', '/token', { body: { error: 'invalid_grant' } }, /invalid response/),
    {
      name: 'another type of token',
      lies: { tokens: { token_type: 'mac' } },
      because: /unsupported operation/,
    },
    { name: 'no type of token', lies: { tokens: { token_type: undefined } }, because: /token_type/ },
    { name: 'no access token', lies: { tokens: { access_token: undefined } }, because: /access_token/ },
    { name: 'no ID token', lies: { tokens: { id_token: undefined } }, because: /id_token/ },
    { name: 'an ID token that is none', lies: { tokens: { id_token: 'e30' } }, because: /./ },
    { name: 'an encrypted ID token', lies: { tokens: { id_token: 'e30.e30.e30.e30.e30' } }, because: /./ },

    { name: 'alg none', lies: { unsigned: true }, because: /alg/ },
    {
      name: 'the public key as a secret',
      lies: { idToken: signed({ alg: 'HS256' }, bytes(publicKey))! },
      because: /alg/,
    },
    {
      name: 'the secret of the client as the key',
      lies: { idToken: signed({ alg: 'HS256' }, bytes(clientSecret.padEnd(32, '0')))! },
      because: /alg/,
    },
    { name: 'a key that it does not publish', lies: { foreignKey: true }, because: /signature/ },
    { name: 'an unknown key id', lies: { idToken: signed({ kid: 'two' })! }, because: /key/ },
    {
      name: 'the key in its own header',
      lies: { idToken: signed({ kid: 'mine', jwk: { kty: 'RSA', n: 'AQAB', e: 'AQAB' } }, foreignKey)! },
      because: /key/,
    },
    {
      name: 'the address of its key in the header',
      lies: { idToken: signed({ jku: 'https://other.example/jwks' }, foreignKey)! },
      because: /signature/,
    },
    {
      name: 'a header that must be understood',
      lies: {
        idToken: async (said, own) => {
          const [, body, mark] = (await signed({})!(said, own)).split('.')
          return [
            Buffer.from('{"alg":"RS256","kid":"one","crit":["x"],"x":1}').toString('base64url'),
            body,
            mark,
          ].join('.')
        },
      },
      because: /./,
    },
    {
      name: 'an algorithm that it does not name',
      lies: {
        idToken: (said) =>
          new SignJWT(said)
            .setProtectedHeader({ alg: 'RS256', kid: 'one' })
            .sign(foreignKey)
            .then((token) =>
              token.replace(/^[^.]+/, Buffer.from('{"alg":"PS256","kid":"one"}').toString('base64url')),
            ),
      },
      because: /alg/,
    },
    {
      name: 'no signature',
      lies: { idToken: async (said, own) => (await signed({})!(said, own)).replace(/[^.]+$/, '') },
      because: /./,
    },
    {
      name: 'claims changed after the signature',
      lies: {
        idToken: async (said, own) => {
          const [head, , mark] = (await signed({})!(said, own)).split('.')
          return [
            head,
            Buffer.from(JSON.stringify({ ...said, sub: 'owner' })).toString('base64url'),
            mark,
          ].join('.')
        },
      },
      because: /signature/,
    },
    at('no published key', '/jwks', { body: { keys: [] } }, /key/),
    at('keys that lead elsewhere', '/jwks', moved, /./),
    at('keys of 300 KiB', '/jwks', huge, /more than 262144 bytes/),

    claims('no nonce', { nonce: undefined }, /nonce/),
    claims('another nonce', { nonce: 'another' }, /./),
    claims('a list of nonces', { nonce: ['another'] }, /./),
    claims('another issuer', { iss: 'https://other.example' }, /has the iss/),
    claims('its issuer with a slash', { iss: `${issuer}/` }, /has the iss/),
    claims('no issuer', { iss: undefined }, /iss/),
    claims('a token for another client', { aud: 'another' }, /has the aud/),
    claims('a token for no client', { aud: undefined }, /aud/),
    claims('a token for a list of other clients', { aud: ['another', 'third'] }, /has the aud/),
    claims('a list of clients, used by another one', { aud: [clientId, 'another'], azp: 'another' }, /./),
    claims('a list of clients, used by none', { aud: [clientId, 'another'] }, /./),
    claims('a token that another client uses', { azp: 'another' }, /azp/),
    claims('a token that has ended', { exp: now() - 120 }, /timestamp/),
    claims('a token without an end', { exp: undefined }, /exp/),
    claims('a token with an end in words', { exp: 'tomorrow' }, /exp/),
    claims('a token that counts later', { nbf: now() + 3_600 }, /timestamp/),
    claims('a token of tomorrow', { iat: now() + 86_400, exp: now() + 90_000 }, /iat/),
    claims('a token without a time', { iat: undefined }, /iat/),
    claims('the hash of another access token', { at_hash: 'AAAAAAAAAAAAAAAAAAAAAA' }, /at_hash/),
    claims('a hash that is no text', { at_hash: 7 }, /at_hash/),
    claims('nobody', { sub: '' }, /sub/),
    claims('no person', { sub: undefined }, /sub/),
    claims('a person by number', { sub: 7 }, /sub/),
    named('a person by address', 'ada@nordwind.example', /address/),
    named('a person by a name that ends early', 'ada\u0000', /no text in the claim sub/),
    named('a person by half a character', '\ud800', /no text in the claim sub/),
    named('a person with a name of 2,000 characters', 'x'.repeat(2_000), /no text in the claim sub/),

    { name: 'a userinfo of another person', lies: { userinfo: { sub: 'owner' } }, because: /./ },
    { name: 'a userinfo of no person', lies: { userinfo: { sub: undefined } }, because: /sub/ },
    at('a userinfo that fails', '/userinfo', { status: 500 }, /status code/),
    at('a userinfo that leads elsewhere', '/userinfo', moved, /status code/),
    at('a userinfo of 300 KiB', '/userinfo', huge, /more than 262144 bytes/),

    described('the description of another issuer', { issuer: 'https://other.example' }, /issuer/, true),
    described('another issuer, once it began', { issuer: 'https://other.example' }, /issuer/),
    described('no issuer of its own', { issuer: undefined }, /./, true),
    described('keys inside our network', { jwks_uri: privateUrl }, /private or reserved/),
    described('keys at the metadata of a cloud', { jwks_uri: metadataUrl }, /https/),
    described('a token endpoint inside our network', { token_endpoint: privateUrl }, /private or reserved/),
    described('a token endpoint without TLS', { token_endpoint: 'http://other.example/token' }, /https/),
    described('a userinfo inside our network', { userinfo_endpoint: privateUrl }, /private or reserved/),
    described('keys in a file', { jwks_uri: 'file:///etc/passwd' }, /./),
    described('no keys at all', { jwks_uri: undefined }, /jwks_uri/),
    described('a page of script', { authorization_endpoint: 'javascript:alert(1)' }, /https/, true),
    described('a page of data', { authorization_endpoint: 'data:text/html,a' }, /https/, true),
    described('a page without TLS', { authorization_endpoint: 'http://other.example/' }, /https/, true),
    described('no page', { authorization_endpoint: undefined }, /./, true),
    { ...at('no description', discovery, { status: 404 }, /status code/), early: true },
    { ...at('a description that leads elsewhere', discovery, moved, /status code/), early: true },
    { ...at('a description as a page', discovery, html, /content-type/), early: true },
    { ...at('a description of 300 KiB', discovery, huge, /more than 262144 bytes/), early: true },
  ]
}
