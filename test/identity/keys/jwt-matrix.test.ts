import { createHmac, createSign, generateKeyPairSync, sign as signBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { CompactEncrypt, createLocalJWKSet, jwtVerify, SignJWT } from 'jose'
import t from 'tap'
import { loadKeyRing } from '../../../src/identity/keys/key-ring.ts'
import { claimsOf } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'

// Every forged or altered token gets 401, on routes with and without a tenant and on refresh.

const service = await sharedService(t, { workers: false })
const { deps } = service
const ada = await service.signUp()
const ring = await loadKeyRing(deps)
const [key] = ring.keys
if (!key) throw new Error('There is no key')

let outbound = 0
const trap = createServer((_, response) => {
  outbound++
  response.end('{"keys":[]}')
}).listen(0, '127.0.0.1')
t.teardown(() => trap.close())
const trapUrl = () => `http://127.0.0.1:${(trap.address() as { port: number }).port}/keys.json`

const b64 = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const good = claimsOf(ada.access)
const header = { alg: key.algorithm, kid: key.kid, typ: 'at+jwt' }
const now = Math.floor(service.now() / 1000)
const [h64, p64, s64] = ada.access.split('.') as [string, string, string]

/** Properly signed by our own key: only the header or the claims are wrong. */
const ours = async (claims: object, more: object = {}) => {
  const input = `${b64({ ...header, ...more })}.${b64(claims)}`
  return `${input}.${await signature(input)}`
}
const signature = async (input: string) =>
  Buffer.from(
    await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key.privateKey, Buffer.from(input)),
  ).toString('base64url')
/** Claims as raw JSON, properly signed. */
const raw = async (claims: string, head = JSON.stringify(header)) => {
  const input = `${b64(head)}.${b64(claims)}`
  return `${input}.${await signature(input)}`
}
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const edwards = generateKeyPairSync('ed25519')
const hmac = (input: string, secret: string) => createHmac('sha256', secret).update(input).digest('base64url')
const none = (alg: string, tail = '') => `${b64({ ...header, alg })}.${p64}.${tail}`
const { exp: _exp, ...endless } = good
const without = (name: string) => Object.fromEntries(Object.entries(good).filter(([claim]) => claim !== name))
const flip = (text: string, at: number) =>
  `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`

const cases: Record<string, string> = {
  'alg none': none('none'),
  'alg None': none('None'),
  'alg NONE': none('NONE'),
  'alg nOnE with a signature': none('nOnE', s64),
  'alg empty': none(''),
  'no alg': `${b64({ kid: key.kid, typ: 'at+jwt' })}.${p64}.${s64}`,
  'HS256 with the kid': (() => {
    const input = `${b64({ ...header, alg: 'HS256' })}.${p64}`
    return `${input}.${hmac(input, key.kid)}`
  })(),
  'HS256 with the public key': (() => {
    const input = `${b64({ ...header, alg: 'HS256' })}.${p64}`
    return `${input}.${hmac(input, JSON.stringify(key.publicJwk))}`
  })(),
  'HS256 with an empty secret': (() => {
    const input = `${b64({ ...header, alg: 'HS256' })}.${p64}`
    return `${input}.${hmac(input, '')}`
  })(),
  HS512: `${b64({ ...header, alg: 'HS512' })}.${p64}.${s64}`,
  'RS256 by a key of its own': (() => {
    const input = `${b64({ ...header, alg: 'RS256' })}.${p64}`
    return `${input}.${createSign('RSA-SHA256').update(input).sign(rsa.privateKey).toString('base64url')}`
  })(),
  'PS256 header': `${b64({ ...header, alg: 'PS256' })}.${p64}.${s64}`,
  'ES384 header': `${b64({ ...header, alg: 'ES384' })}.${p64}.${s64}`,
  'EdDSA by a key of its own': (() => {
    const input = `${b64({ ...header, alg: 'EdDSA' })}.${p64}`
    return `${input}.${signBytes(null, Buffer.from(input), edwards.privateKey).toString('base64url')}`
  })(),
  'ES256 by another key, our kid': await new SignJWT(good)
    .setProtectedHeader(header)
    .sign(stranger.privateKey),
  'ES256 by another key, no kid': await new SignJWT(good)
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
    .sign(stranger.privateKey),
  'no signature': `${h64}.${p64}.`,
  'two parts': `${h64}.${p64}`,
  'four parts': `${ada.access}.x`,
  'five parts': `${ada.access}.x.y`,
  'one part': h64,
  'a trimmed signature': ada.access.slice(0, -4),
  'a lengthened signature': `${ada.access}AAAA`,
  'a zero signature': `${h64}.${p64}.${Buffer.alloc(64).toString('base64url')}`,
  'the signature as DER': `${h64}.${p64}.${createSign('SHA256').update(`${h64}.${p64}`).sign(stranger.privateKey).toString('base64url')}`,
  'the first byte of the signature': `${h64}.${p64}.${flip(s64, 0)}`,
  'a byte in the middle of the signature': `${h64}.${p64}.${flip(s64, 40)}`,
  'a byte of the claims': `${h64}.${flip(p64, 20)}.${s64}`,
  'a byte of the header': `${flip(h64, 5)}.${p64}.${s64}`,
  'another person in the claims': `${h64}.${b64({ ...good, sub: '00000000-0000-7000-8000-000000000000' })}.${s64}`,
  'an owner by claim': `${h64}.${b64({ ...good, roles: ['owner', 'admin'] })}.${s64}`,
  'kid a path': await ours(good, { kid: '../../../../dev/null' }),
  'kid SQL': await ours(good, { kid: "' or 1=1 --" }),
  'kid unknown': await ours(good, { kid: 'unknown' }),
  'kid a URL': await ours(good, { kid: trapUrl() }),
  'kid null': await ours(good, { kid: null }),
  'kid a number': await ours(good, { kid: 1 }),
  'kid an array': await ours(good, { kid: [key.kid] }),
  'kid __proto__': await ours(good, { kid: '__proto__' }),
  'no kid': await raw(JSON.stringify(good), JSON.stringify({ alg: key.algorithm, typ: 'at+jwt' })),
  'jku with a key of its own': await new SignJWT(good)
    .setProtectedHeader({ ...header, kid: 'mine', jku: trapUrl() })
    .sign(stranger.privateKey),
  'x5u with a key of its own': await new SignJWT(good)
    .setProtectedHeader({ ...header, kid: 'mine', x5u: trapUrl() })
    .sign(stranger.privateKey),
  'jwk with a key of its own': await new SignJWT(good)
    .setProtectedHeader({
      ...header,
      kid: 'mine',
      jwk: stranger.publicKey.export({ format: 'jwk' }) as never,
    })
    .sign(stranger.privateKey),
  'jwk and our kid': await new SignJWT(good)
    .setProtectedHeader({ ...header, jwk: stranger.publicKey.export({ format: 'jwk' }) as never })
    .sign(stranger.privateKey),
  'crit unknown': await ours(good, { crit: ['exp'] }),
  'crit empty': await ours(good, { crit: [] }),
  'b64 false': await ours(good, { crit: ['b64'], b64: false }),
  'typ JWT': await ours(good, { typ: 'JWT' }),
  'typ of a refresh token': await ours(good, { typ: 'rt+jwt' }),
  'typ of a temporary token': await ours(good, { typ: 'otp+jwt' }),
  'no typ': await raw(JSON.stringify(good), JSON.stringify({ alg: key.algorithm, kid: key.kid })),
  'typ a number': await ours(good, { typ: 1 }),
  'token_type refresh': await ours({ ...good, token_type: 'refresh' }),
  'token_type missing': await ours(without('token_type')),
  expired: await ours({ ...good, exp: now - 6 }),
  'exp now, beyond the tolerance': await ours({ ...good, exp: now - 5 }),
  'no exp': await ours(endless),
  'exp null': await ours({ ...good, exp: null }),
  'exp a string': await ours({ ...good, exp: String(now + 900) }),
  'exp negative': await ours({ ...good, exp: -1 }),
  'exp NaN by 1e999': await raw(JSON.stringify({ ...good, exp: 0 }).replace('"exp":0', '"exp":-1e999')),
  'exp an array': await ours({ ...good, exp: [now + 900] }),
  'nbf in the future': await ours({ ...good, nbf: now + 60 }),
  'nbf a string': await ours({ ...good, nbf: 'now' }),
  'iat a string': await ours({ ...good, iat: 'now' }),
  'no iat': await ours(without('iat')),
  'no sub': await ours(without('sub')),
  'sub a number': await ours({ ...good, sub: 1 }),
  'no sid': await ours(without('sid')),
  'no jti': await ours(without('jti')),
  'no tenant_id': await ours(without('tenant_id')),
  'tenant_id a number': await ours({ ...good, tenant_id: 1 }),
  'wrong iss': await ours({ ...good, iss: 'https://evil.example' }),
  'no iss': await ours(without('iss')),
  'iss an array': await ours({ ...good, iss: [good.iss] }),
  'wrong aud': await ours({ ...good, aud: 'another' }),
  'no aud': await ours(without('aud')),
  'aud an empty array': await ours({ ...good, aud: [] }),
  'duplicate exp, the later one past': await raw(`${JSON.stringify(good).slice(0, -1)},"exp":1}`),
  'duplicate sub, the later one unknown': await raw(
    `${JSON.stringify(good).slice(0, -1)},"sub":"00000000-0000-7000-8000-000000000000"}`,
  ),
  'claims an array': await raw('[]'),
  'claims null': await raw('null'),
  'claims text': await raw('"text"'),
  'claims not JSON': await raw('{'),
  'header not JSON': `${b64('{')}.${p64}.${s64}`,
  'header an array': `${b64('[]')}.${p64}.${s64}`,
  'header null': `${b64('null')}.${p64}.${s64}`,
  'a JWE': await new CompactEncrypt(Buffer.from(JSON.stringify(good)))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: 'at+jwt' })
    .encrypt(Buffer.alloc(32)),
  'standard base64': `${h64}.${p64}.${Buffer.from(s64, 'base64url').toString('base64')}`,
  'dots alone': '..',
  'a word': 'token',
  'a token of 9 KB': await ours({ ...good, more: 'x'.repeat(9_000) }),
  'a session that does not exist': await ours({ ...good, sid: '00000000-0000-7000-8000-000000000000' }),
  'a session of another person': await ours({
    ...good,
    sub: (await service.signUp()).id,
  }),
}

/** Values whose types no claim can have. */
const odd = {
  'an object': { a: 1 },
  'an array': [1],
  null: null,
  true: true,
  '1.5': 1.5,
  'text of NUL': '\0',
}
const oddClaims = async (of: Record<string, unknown>, more: object = {}) =>
  Object.fromEntries(
    await Promise.all(
      Object.keys(of).flatMap((claim) =>
        Object.entries(odd)
          .filter(([what]) => claim !== 'email' || what !== 'text of NUL') // any text may be an address
          .map(
            async ([what, value]) =>
              [`${claim} ${what}`, await ours({ ...of, [claim]: value }, more)] as const,
          ),
      ),
    ),
  )

const routes: [string, string][] = [
  ['GET', '/api/v1/users/me/'],
  ['GET', '/api/v1/tenants/'],
  ['GET', '/api/v1/auth/sessions/'],
  ['PATCH', '/api/v1/users/me/'],
  ['POST', '/api/v1/auth/logout-all/'],
]

t.test(
  `the ${Object.keys(cases).length} forged tokens are refused on each of ${routes.length} routes`,
  async (t) => {
    t.ok(Object.keys(cases).length >= 60)
    t.equal((await ada.get('/api/v1/users/me/')).status, 200, 'the genuine token is accepted')
    t.equal(
      (await service.call('GET', '/api/v1/users/me/', { token: await ours(good) })).status,
      200,
      'also signed here',
    )
    const begun = process.cpuUsage()
    for (const [what, token] of Object.entries(cases)) {
      for (const [method, path] of routes) {
        const answer = await service.call(method, path, { token, ...(method === 'GET' ? {} : { body: {} }) })
        if (answer.status !== 401 || !/^Bearer/.test(answer.headers.get('www-authenticate') ?? ''))
          t.fail(`${what} on ${method} ${path}: ${answer.status}`)
      }
      t.ok(
        await deps.signer.verify('refresh', token, service.now()).then(
          () => false,
          () => true,
        ),
        what,
      )
    }
    t.equal((await ada.get('/api/v1/users/me/')).status, 200, 'none of these tokens ended the session')
    t.equal(outbound, 0, 'no address of a header was fetched')
    const spent = process.cpuUsage(begun)
    const ms = (spent.user + spent.system) / 1_000 / (Object.keys(cases).length * routes.length)
    t.ok(ms < 20, `${ms} ms each`)
  },
)

t.test(
  'a token of our own key with a claim of a wrong type gets 401, never 500, for every claim',
  async (t) => {
    const ended = claimsOf(ada.refresh)
    const temporary = claimsOf(await deps.signer.sign('otp_pending', { ...good, iat: now, exp: now + 300 }))
    const asBearer = (token: string) => service.call('GET', '/api/v1/users/me/', { token })
    const kinds = {
      access: [await oddClaims(good), asBearer],
      refresh: [
        await oddClaims(ended, { typ: 'rt+jwt' }),
        (token: string) => service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: token } }),
      ],
      temporary: [
        await oddClaims(temporary, { typ: 'otp+jwt' }),
        (token: string) => service.call('POST', '/api/v1/auth/otp/email/send/', { token }),
      ],
    } as const
    for (const [kind, [tokens, present]] of Object.entries(kinds)) {
      const answers = await Promise.all(
        Object.entries(tokens).map(async ([what, token]) => `${what}: ${(await present(token)).status}`),
      )
      t.ok(answers.length >= 60, `${answers.length} tokens of the kind ${kind}`)
      t.same(
        answers.filter((answer) => !answer.endsWith(': 401')),
        [],
        kind,
      )
    }
  },
)

t.test('the usual check of an application accepts only the access token', async (t) => {
  const { body } = await service.call('GET', '/.well-known/jwks.json')
  const taken = async (token: string) => {
    const options = { issuer: ring.issuer, audience: ring.audience, currentDate: new Date(service.now()) }
    const outcome = await jwtVerify(token, createLocalJWKSet(body), options).catch((error) => error)
    return outcome.code ?? outcome.payload.token_type
  }
  const bob = await service.signUp()
  await bob.patch(`/api/v1/tenants/${bob.tenantId}/`, { settings: { require_mfa: true } })
  const temporary = await service.call('POST', '/api/v1/auth/login/', { body: bob })
  t.equal(await taken(ada.access), 'access')
  t.equal(await taken(ada.refresh), 'ERR_JWT_CLAIM_VALIDATION_FAILED')
  t.equal(await taken(temporary.body.temporary_token), 'ERR_JWT_CLAIM_VALIDATION_FAILED')
})

t.test('older refresh and temporary tokens with the audience of access tokens still work', async (t) => {
  const bob = await service.signUp()
  const old = await ours({ ...claimsOf(bob.refresh), aud: ring.audience }, { typ: 'rt+jwt' })
  const { status, body } = await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: old } })
  t.equal(status, 200)
  t.equal(claimsOf(body.refresh).aud, ring.issuer, 'its successor has the new audience')
  t.equal(claimsOf(body.access).aud, ring.audience)
  await bob.patch(`/api/v1/tenants/${bob.tenantId}/`, { settings: { require_mfa: true } })
  const login = await service.call('POST', '/api/v1/auth/login/', { body: bob })
  const pending = claimsOf(login.body.temporary_token)
  t.equal(pending.aud, ring.issuer)
  const token = await ours({ ...pending, aud: ring.audience }, { typ: 'otp+jwt' })
  t.equal((await service.call('POST', '/api/v1/auth/otp/email/send/', { token })).status, 200)
  const addressed = await ours({ ...good, aud: ring.issuer })
  t.equal(
    (await service.call('GET', '/api/v1/users/me/', { token: addressed })).status,
    401,
    'not an access token',
  )
})

t.test('each kind of token works only for its own consumer', async (t) => {
  const consumers = {
    access: (token: string) => service.call('GET', '/api/v1/users/me/', { token }),
    refresh: (token: string) => service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: token } }),
    verify: (token: string) =>
      service.call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token } }),
    reset: (token: string) =>
      service.call('POST', '/api/v1/auth/password/reset/confirm/', {
        body: { token, password: 'a new harbour' },
      }),
  }
  const pending = await deps.signer.sign('otp_pending', { ...good, iat: now, exp: now + 300 })
  const tokens = { access: ada.access, refresh: ada.refresh, pending }
  for (const [kind, token] of Object.entries(tokens))
    for (const [consumer, present] of Object.entries(consumers)) {
      if (kind === consumer) continue
      const { status } = await present(token)
      t.ok(status === 401 || status === 400, `${kind} for ${consumer}: ${status}`)
    }
  for (const [consumer, present] of Object.entries(consumers).slice(0, 2))
    t.equal((await present(consumer === 'access' ? ada.access : ada.refresh)).status, 200)
})

t.test('a token of one megabyte is refused before it is parsed', async (t) => {
  const answer = await fetch(`${service.url}/api/v1/auth/refresh/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ refresh: 'x'.repeat(1_000_000) }),
  })
  t.equal(answer.status, 413)
  await t.rejects(deps.signer.verify('access', 'x'.repeat(1_000_000), service.now()), {
    code: 'token_not_valid',
  })
})
