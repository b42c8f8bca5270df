import { createLocalJWKSet, jwtVerify } from 'jose'
import t from 'tap'
import { loadKeyRing } from '../../../src/identity/keys/key-ring.ts'
import { forgeTokens } from '../../adversary/forged-tokens.ts'
import { claimsOf, loginOf } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'

// Every forged or altered token gets 401, on routes with and without a tenant and on refresh.

const service = await sharedService(t, { workers: false })
const { deps } = service
const ada = await service.signUp()
const ring = await loadKeyRing(deps)
const { cases, oddClaims, ours, fetched, close } = await forgeTokens(service, ada)
t.teardown(close)
const good = claimsOf(ada.access)
const now = Math.floor(service.now() / 1000)

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
    t.equal(fetched(), 0, 'no address of a header was fetched')
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
  const temporary = await service.call('POST', '/api/v1/auth/login/', { body: loginOf(bob) })
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
  const login = await service.call('POST', '/api/v1/auth/login/', { body: loginOf(bob) })
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
