import { hash } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import * as oidc from 'openid-client'
import t from 'tap'
import { startService } from '../helpers/service.ts'
import { expect } from '../tenancy/staff.ts'
import {
  authorize,
  basicOf,
  openApplication,
  openBrowser,
  openMachine,
  postForm,
  request,
} from './relying-party.ts'

const service = await startService(t, { workers: false })
// The library's clock is that of the machine.
t.beforeEach(() => service.advance(Date.now() - service.deps.clock()))
const issuer = service.deps.publicUrl()
const api = `${issuer}/api/v1`
const me = '/api/v1/users/me/'
service.advance(Date.now() - service.deps.clock())
const owner = await service.signUp()

/** A key, and proofs that it signs. */
async function openKey(alg = 'ES256') {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(publicKey)
  return {
    privateKey,
    jwk,
    prove: (claims: JWTPayload, header: object = {}, key: typeof privateKey | Uint8Array = privateKey) =>
      new SignJWT({ jti: crypto.randomUUID(), iat: Math.floor(service.deps.clock() / 1000), ...claims })
        .setProtectedHeader({ alg, typ: 'dpop+jwt', jwk, ...header })
        .sign(key),
  }
}
const key = await openKey()
const athOf = (token: string) => hash('sha256', token, 'base64url')

/** A call of the API with a bound token. */
const call = async (token: string, proof: string | string[], scheme = 'DPoP', path = me, method = 'GET') => {
  const headers = new Headers({ Authorization: `${scheme} ${token}` })
  for (const one of [proof].flat()) headers.append('DPoP', one)
  const answer = await fetch(issuer + path, { method, headers })
  return {
    status: answer.status,
    challenge: answer.headers.get('www-authenticate'),
    body: await answer.json().catch(() => null),
  }
}

t.test('a token is bound to the key that the application proves', async (t) => {
  const app = await openApplication(service, owner, { scopes: ['openid', 'offline_access', 'member:list'] })
  const handle = oidc.getDPoPHandle(app.config, await oidc.randomDPoPKeyPair())
  const { path, checks } = await request(app, { resource: api, scope: 'openid offline_access member:list' })
  const answer = await authorize(openBrowser(service), owner, path)
  const tokens = await oidc.authorizationCodeGrant(app.config, answer, checks, undefined, { DPoP: handle })
  t.equal(tokens.token_type, 'dpop')
  const read = (token: string, DPoP = handle) =>
    oidc.fetchProtectedResource(app.config, token, new URL(issuer + me), 'GET', null, undefined, { DPoP })
  t.equal((await read(tokens.access_token)).status, 200)
  t.match(await (await read(tokens.access_token)).json(), { id: owner.id })
  t.match(await call(tokens.access_token, [], 'Bearer'), {
    status: 401,
    challenge: /^DPoP error="invalid_token", algs="ES256 /,
  })
  const other = oidc.getDPoPHandle(app.config, await oidc.randomDPoPKeyPair())
  await t.rejects(read(tokens.access_token, other), 'nor with another key')
  const refreshed = await oidc.refreshTokenGrant(app.config, tokens.refresh_token!, {}, { DPoP: handle })
  t.equal((await read(refreshed.access_token)).status, 200)
  t.match(await oidc.tokenIntrospection(app.config, refreshed.access_token), {
    active: true,
    cnf: { jkt: /^[\w-]{43}$/ },
    token_type: 'DPoP',
  })
  const { body } = await service.call('GET', '/.well-known/openid-configuration')
  t.match(body.dpop_signing_alg_values_supported, ['ES256'])
})

t.test('userinfo takes a bound token with a proof alone', async (t) => {
  const app = await openApplication(service, owner)
  const handle = oidc.getDPoPHandle(app.config, await oidc.randomDPoPKeyPair())
  const { path, checks } = await request(app)
  const answer = await authorize(openBrowser(service), owner, path)
  const tokens = await oidc.authorizationCodeGrant(app.config, answer, checks, undefined, { DPoP: handle })
  t.match(await oidc.fetchUserInfo(app.config, tokens.access_token, owner.id, { DPoP: handle }), {
    sub: owner.id,
  })
  await t.rejects(oidc.fetchUserInfo(app.config, tokens.access_token, owner.id))
})

t.test('an application without a secret keeps its refresh token to its key', async (t) => {
  const app = await openApplication(
    service,
    owner,
    { kind: 'spa', token_endpoint_auth_method: 'none', dpop_bound: true },
    oidc.None(),
  )
  const handle = oidc.getDPoPHandle(app.config, await oidc.randomDPoPKeyPair())
  const code = async () => {
    const { path, checks } = await request(app)
    return [await authorize(openBrowser(service), owner, path), checks] as const
  }
  await t.rejects(oidc.authorizationCodeGrant(app.config, ...(await code())), 'dpop_bound: a proof is needed')
  const tokens = await oidc.authorizationCodeGrant(app.config, ...(await code()), undefined, { DPoP: handle })
  await t.rejects(oidc.refreshTokenGrant(app.config, tokens.refresh_token!))
  const other = oidc.getDPoPHandle(app.config, await oidc.randomDPoPKeyPair())
  await t.rejects(oidc.refreshTokenGrant(app.config, tokens.refresh_token!, {}, { DPoP: other }))
  t.ok(await oidc.refreshTokenGrant(app.config, tokens.refresh_token!, {}, { DPoP: handle }))
})

t.test('the API refuses each proof that is not for this request', async (t) => {
  const machine = await openMachine(service, owner, { scopes: ['profile:read'] })
  const grant = { grant_type: 'client_credentials' }
  const url = `${issuer}/oauth/token`
  const ask = (proof: string) =>
    postForm(service, '/oauth/token', grant, { ...basicOf(machine), DPoP: proof })
  const first = await key.prove({ htm: 'POST', htu: url })
  const { body } = await ask(first)
  t.match(body, { token_type: 'DPoP' })
  const token = body.access_token as string
  t.match(await oidc.tokenIntrospection(machine.config, token), {
    active: true,
    cnf: { jkt: /./ },
    token_type: 'DPoP',
  })
  const fit = { htm: 'GET', htu: issuer + me, ath: athOf(token) }
  t.equal((await call(token, await key.prove(fit))).status, 200)
  t.equal(
    (await call(token, await key.prove({ ...fit, htu: `${issuer + me}?a=b#c` }))).status,
    200,
    'without query and fragment',
  )
  t.equal((await call(token, await key.prove(fit), 'dpop')).status, 200, 'in any case')
  const used = await key.prove(fit)
  t.equal((await call(token, used)).status, 200)
  const other = await openKey()
  const rsa = await openKey('RS256')
  const secret = new TextEncoder().encode('x'.repeat(32))
  const now = Math.floor(service.deps.clock() / 1000)
  const full = await exportJWK(key.privateKey)
  const [head = '', payload = '', signature = ''] = (await key.prove(fit)).split('.')
  const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'dpop+jwt', jwk: key.jwk })).toString(
    'base64url',
  )
  const cases: Record<string, string | string[]> = {
    'none at all': [],
    'used before': used,
    'two of them': [await key.prove(fit), await key.prove(fit)],
    'of another key': await other.prove(fit),
    'of a key of another type': await rsa.prove(fit),
    'of another key that names ours': await other.prove(fit, { jwk: key.jwk }),
    'with its private key': await key.prove(fit, { jwk: full }),
    'without a key': await key.prove(fit, { jwk: undefined }),
    'with a shared secret': await key.prove(fit, { alg: 'HS256', jwk: { kty: 'oct', k: 'eHh4eA' } }, secret),
    'without a signature': `${none}.${payload}.`,
    'with a changed signature': `${head}.${payload}.${signature.slice(0, -4)}AAAA`,
    'of another type': await key.prove(fit, { typ: 'JWT' }),
    'of an access token type': await key.prove(fit, { typ: 'at+jwt' }),
    'without a type': await key.prove(fit, { typ: undefined }),
    'for another method': await key.prove({ ...fit, htm: 'POST' }),
    'for a method in another case': await key.prove({ ...fit, htm: 'get' }),
    'without a method': await key.prove({ ...fit, htm: undefined }),
    'for another path': await key.prove({ ...fit, htu: `${api}/events/` }),
    'for a path in another case': await key.prove({ ...fit, htu: `${issuer}${me.toUpperCase()}` }),
    'for another host': await key.prove({ ...fit, htu: `https://evil.example${me}` }),
    'for another port': await key.prove({ ...fit, htu: `http://127.0.0.1:1${me}` }),
    'for a host that begins so': await key.prove({ ...fit, htu: `${issuer}.evil.example${me}` }),
    'for no address': await key.prove({ ...fit, htu: undefined }),
    'for a path alone': await key.prove({ ...fit, htu: me }),
    'for another token': await key.prove({ ...fit, ath: athOf(`${token}x`) }),
    'without the token': await key.prove({ ...fit, ath: undefined }),
    'of the token endpoint': first,
    'too old': await key.prove({ ...fit, iat: now - 120 }),
    'of later': await key.prove({ ...fit, iat: now + 120 }),
    'without a time': await key.prove({ ...fit, iat: undefined as never }),
    'with an end that has passed': await key.prove({ ...fit, exp: now - 300 }),
    'without an id': await key.prove({ ...fit, jti: undefined as never }),
    'with an empty id': await key.prove({ ...fit, jti: '' }),
    'with a long id': await key.prove({ ...fit, jti: 'x'.repeat(201) }),
    'too long': await key.prove({ ...fit, pad: 'x'.repeat(4_096) }),
    'that is no JWT': 'x.y.z',
  }
  for (const [name, proof] of Object.entries(cases))
    t.match(await call(token, proof), { status: 401, challenge: /^DPoP error="invalid_dpop_proof"/ }, name)
  const once = await key.prove(fit)
  const all = await Promise.all(Array.from({ length: 20 }, () => call(token, once)))
  t.equal(all.filter(({ status }) => status === 200).length, 1, 'of 20 at the same moment one wins')

  t.match(await ask(first), { status: 400 }, 'the token endpoint takes it once, too')
  for (const [name, proof] of Object.entries({
    'for the API': await key.prove(fit),
    'with a wrong nonce': await key.prove({ htm: 'POST', htu: url, nonce: 'x' }),
    'of another type': await key.prove({ htm: 'POST', htu: url }, { typ: 'JWT' }),
  }))
    t.match(await ask(proof), { status: 400, body: { error: /^(invalid_dpop_proof|use_dpop_nonce)$/ } }, name)

  const bearer = (await postForm(service, '/oauth/token', grant, basicOf(machine))).body.access_token
  const proof = await key.prove({ ...fit, ath: athOf(bearer) })
  t.match(
    await call(bearer, proof),
    { status: 401, challenge: /invalid_token/ },
    'a token of no key is no DPoP token',
  )
  t.equal((await call(bearer, [], 'Bearer')).status, 200)
  const own = await key.prove({ ...fit, ath: athOf(owner.access) })
  t.match(await call(owner.access, own), { status: 401 }, 'nor is one of a sign-in')
  const made = await expect(201, owner.post('/api/v1/users/me/keys/', { name: 'k', expires_in: 86_400 }))
  t.match(await call(made.key, own), { status: 401 }, 'nor a key')
})
