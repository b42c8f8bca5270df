import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import t from 'tap'
import { actions } from '../../src/policy-engine/catalogue/actions.ts'
import { assertDecided } from '../../src/request/registry.ts'
import type { Route } from '../../src/request/route.ts'
import { listRoutes } from '../../src/start/app.ts'
import { type Call, claimsOf, tokenIn } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

// Visits every route of the registry; new routes are included automatically.

const service = await sharedService(t)
const routes = listRoutes(service.deps, { ready: async () => undefined, drain() {} })
const decided = routes.filter((route) => route.action !== 'public')
const nameOf = ({ method, path }: Route) => `${method} ${path}`
/** The address of a route with `ids` as its parameters in order, and random ids for the others. */
const addressOf = (route: Route, ...ids: string[]) =>
  `${route.path.replace(/:\w+/g, () => ids.shift() ?? randomUUID())}${route.path.startsWith('/api/') ? '/' : ''}`
const visit = (route: Route, call: Call, ...ids: string[]) =>
  service.call(route.method, addressOf(route, ...ids), {
    ...(route.method !== 'GET' && { body: {} }),
    ...call,
  })

const ada = await service.signUp()
const claims = claimsOf(ada.access)
const idsOf = (route: Route) => (route.scope === 'token' ? [] : [ada.tenantId])

t.test('only these routes need no token', async (t) => {
  const open = routes.filter(({ access }) => access !== 'token').map(nameOf)
  t.same(open.sort(), [
    'GET /.well-known/authzen-configuration',
    'GET /.well-known/jwks.json',
    'GET /api/v1/application/events',
    'GET /healthz',
    'GET /readyz',
    'POST /api/v1/auth/email/undo',
    'POST /api/v1/auth/email/verify/confirm',
    'POST /api/v1/auth/email/verify/reject',
    'POST /api/v1/auth/identities/undo',
    'POST /api/v1/auth/login',
    'POST /api/v1/auth/magic-link',
    'POST /api/v1/auth/magic-link/confirm',
    'POST /api/v1/auth/otp/undo',
    'POST /api/v1/auth/passkeys/login',
    'POST /api/v1/auth/passkeys/login/options',
    'POST /api/v1/auth/password/reset',
    'POST /api/v1/auth/password/reset/confirm',
    'POST /api/v1/auth/refresh',
    'POST /api/v1/auth/register',
    'POST /api/v1/invitations/accept',
    'POST /api/v1/invitations/accept/options',
    'POST /api/v1/keys/revoke',
    'POST /api/v1/tenants/leave',
  ])
})

t.test('a route that needs no token takes 16 KiB, and reads no more to refuse the rest', async (t) => {
  for (const route of routes) {
    if (route.access === 'token' || route.method === 'GET') continue
    const body = '['.repeat(16 * 1024)
    t.match(await visit(route, { body }), { status: 400, body: { code: 'parse_error' } }, nameOf(route))
    t.match(await visit(route, { body: `${body}[` }), { status: 413 }, nameOf(route))
  }
})

t.test(
  'the service does not start when a route that can require an approval cannot consume one',
  async (t) => {
    assertDecided(routes)
    const gated = routes.find(({ action }) => action === 'role:create')!
    t.throws(() => assertDecided([{ ...gated, kind: 'handle' } as Route]), /change in act/)
    t.throws(
      () => assertDecided([{ ...gated, action: 'role:invent' } as unknown as Route]),
      /not in the catalogue/,
    )
  },
)

t.test('no route can be used without a token', async (t) => {
  for (const route of decided.filter(({ access }) => access === 'token')) {
    const { status, body, headers } = await visit(route, {}, ...idsOf(route))
    t.match({ status, body }, { status: 401, body: { code: 'not_authenticated' } }, nameOf(route))
    t.match(headers.get('www-authenticate'), /^Bearer/, nameOf(route))
    t.equal(headers.get('cache-control'), 'no-store')
  }
})

t.test('no route accepts a token of another kind, issuer or time', async (t) => {
  const { signer } = service.deps
  const now = Math.floor(service.now() / 1000)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const header = JSON.parse(Buffer.from(ada.access.split('.')[0]!, 'base64url').toString())
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const [head, payload, signature] = ada.access.split('.')
  const byOther = (over: object, alg = 'ES256', key: never = privateKey as never) =>
    new SignJWT({ ...claims, ...over }).setProtectedHeader({ ...header, alg }).sign(key)
  const resigned = (over: object) => signer.sign('access', { ...claims, ...over, jti: randomUUID() })
  const wrong: Record<string, string> = {
    'a refresh token': ada.refresh,
    'a token from a mail': tokenIn(await service.mailTo(ada.email, 'Confirm')),
    garbage: 'garbage',
    'three dots': '...',
    'no signature': `${head}.${payload}.`,
    'two parts': `${head}.${payload}`,
    'half a signature': `${head}.${payload}.${signature!.slice(0, 40)}`,
    'another signature': `${head}.${payload}.${randomBytes(64).toString('base64url')}`,
    'another payload': `${head}.${part({ ...claims, user_id: randomUUID(), sub: randomUUID() })}.${signature}`,
    'alg none': `${part({ ...header, alg: 'none' })}.${payload}.`,
    'alg NONE': `${part({ ...header, alg: 'NONE' })}.${payload}.${signature}`,
    'a foreign key': await byOther({}),
    'a key in the header': `${part({ ...header, jwk: { kty: 'EC' }, jku: 'http://127.0.0.1:9/' })}.${payload}.${signature}`,
    'HMAC with the public key': await byOther(
      {},
      'HS256',
      Buffer.from(JSON.stringify(signer.jwks())) as never,
    ),
    'an unknown key': `${part({ ...header, kid: '../../etc/passwd' })}.${payload}.${signature}`,
    'a critical extension': `${part({ ...header, crit: ['b64'], b64: false })}.${payload}.${signature}`,
    expired: await resigned({ exp: now - 60 }),
    'not yet valid': await resigned({ nbf: now + 600 }),
    'no end': await resigned({ exp: undefined }),
    'an expiry that is not a number': await resigned({ exp: 'tomorrow' as never }),
    'no session': await resigned({ sid: undefined as never }),
    'no subject': await resigned({ sub: undefined as never }),
    'a subject that is not a text': await resigned({ sub: 7 as never }),
    'no tenant': await resigned({ tenant_id: undefined }),
    'a token of 100 KB': `${ada.access}${'x'.repeat(50_000)}`,
  }
  for (const [what, token] of Object.entries(wrong))
    t.match(await visit(decided[0]!, { token }), { status: 401, body: { code: 'token_not_valid' } }, what)
  // All at one route, then two at each of the others. `npm run adversary` tries many at every route.
  const kinds = ['a token from a mail', 'alg none', 'a foreign key', 'expired']
  for (const [place, route] of decided.entries())
    for (const kind of ['a refresh token', kinds[place % kinds.length]!]) {
      const answer = await visit(route, { token: wrong[kind]! }, ...idsOf(route))
      t.match(answer, { status: 401, body: { code: 'token_not_valid' } }, `${nameOf(route)} with ${kind}`)
    }
  for (const scheme of ['Basic', 'Token', 'JWT', 'Bearer:', 'Bearerx'])
    t.match(
      await visit(decided[0]!, { headers: { authorization: `${scheme} ${ada.access}` } }),
      { status: 401 },
      scheme,
    )
  for (const scheme of ['bearer', 'BEARER', 'Bearer  '])
    t.equal(
      (await ada.get('/api/v1/users/me/', { headers: { authorization: `${scheme} ${ada.access}` } })).status,
      200,
    )
})

t.test('a temporary token works for the routes of its second factor and no others', async (t) => {
  const token = await service.deps.signer.sign('otp_pending', { ...claims, jti: randomUUID() } as never)
  for (const route of decided) {
    if (actions[route.action as keyof typeof actions].tokens.includes('otp_pending' as never)) continue
    const { status, body } = await visit(route, { token }, ...idsOf(route))
    t.equal(status, 401, nameOf(route))
    t.ok(['otp_required', 'token_not_valid'].includes(body.code), `${nameOf(route)}: ${body.code}`)
  }
})

t.test('the token of an ended session works for no route', async (t) => {
  const gone = await service.logIn(ada)
  await gone.post('/api/v1/auth/logout/')
  for (const route of decided)
    t.match(
      await visit(route, { token: gone.access }, ...idsOf(route)),
      { status: 401, body: { code: 'session_revoked' } },
      nameOf(route),
    )
})

t.test('a caller without permission for an action is refused before the body is checked', async (t) => {
  let refusals = 0
  for (const role of ['admin', 'member', 'auditor'] as const) {
    const person = await service.signUp()
    const added = await ada.post(`/api/v1/tenants/${ada.tenantId}/members/`, {
      user_id: person.id,
      roles: [role],
    })
    t.equal(added.status, 201)
    await person.switchTo(ada.tenantId)
    for (const route of decided) {
      const { roles, own, self, open } = actions[route.action as keyof typeof actions]
      const mayAsk = self || open || ([...roles, ...own] as string[]).includes(role)
      if (mayAsk) continue
      refusals++
      const answer = await visit(
        route,
        { token: person.access, ...(route.method !== 'GET' && { body: '{"half' }) },
        ...idsOf(route),
      )
      t.match(
        answer,
        {
          status: 403,
          body: { code: 'permission_denied', decision_id: String, reasons: [{ code: String }] },
        },
        `${nameOf(route)} by ${role}`,
      )
      t.notMatch(JSON.stringify(answer.body.reasons), /"(policy_id|sql|stack)"/)
    }
  }
  t.ok(refusals > 0)
})

t.test('a tenant is 404 for callers who are not members, on every path', async (t) => {
  const eve = await service.signUp()
  const masked = ({ status, body, headers }: Awaited<ReturnType<typeof visit>>) => ({
    status,
    type: headers.get('content-type'),
    length: headers.get('content-length'),
    body: { ...body, instance: '', decision_id: '' },
  })
  for (const route of decided.filter(({ scope }) => scope !== 'token')) {
    const foreign = await visit(route, { token: eve.access }, ada.tenantId)
    t.match(foreign, { status: 404, body: { code: 'not_found' } }, nameOf(route))
    t.same(masked(foreign), masked(await visit(route, { token: eve.access })), `${nameOf(route)}: as unknown`)
    for (const id of ['x', '0', '%00', `${ada.tenantId}x`, "'"])
      t.equal((await visit(route, { token: eve.access }, id)).status, 404, `${nameOf(route)} ${id}`)
  }
})

t.test('routes inside a tenant require a token of this tenant', async (t) => {
  const inside = decided.filter(({ scope }) => scope === 'inside')
  const { body: second } = await ada.post('/api/v1/tenants/', { name: 'Second' })
  for (const route of inside)
    t.match(
      await visit(route, { token: ada.access }, second.id),
      { status: 403, body: { code: 'tenant_mismatch' } },
      nameOf(route),
    )
  t.equal((await ada.get(`/api/v1/tenants/${second.id}/`)).status, 200, 'a member can read the tenant itself')
  t.equal(
    (await ada.get(`/api/v1/tenants/${ada.tenantId.toUpperCase()}/members/`)).status,
    200,
    'in capitals, too',
  )
})

t.test('a path answers the same with and without a trailing slash', async (t) => {
  for (const route of routes) {
    const address = addressOf(route, ...idsOf(route)).replace(/\/$/, '')
    if (/logout/.test(address)) continue
    const [plain, slashed] = await Promise.all(
      [address, `${address}/`].map((path) =>
        service.call(route.method, path, { body: route.method === 'GET' ? undefined : {} }),
      ),
    )
    t.equal(plain!.status, slashed!.status, nameOf(route))
    t.equal(plain!.body?.code, slashed!.body?.code, nameOf(route))
    t.equal(plain!.headers.get('location'), null)
  }
})

/** The routes that match an address of this path; a fixed word can match a parameter of another route. */
const servedAt = (path: string) =>
  routes.filter((other) =>
    new RegExp(`^${other.path.replace(/:\w+/g, '[^/]+')}$`).test(path.replace(/:\w+/g, 'x')),
  )

t.test('OPTIONS is public and lists the methods; HEAD is a GET without its body', async (t) => {
  const paths = Map.groupBy(routes, ({ path }) => path)
  for (const [path, at] of paths) {
    const address = addressOf(at[0]!, ...idsOf(at[0]!))
    const options = await service.call('OPTIONS', address)
    t.equal(options.status, 204, path)
    t.equal(options.body, null)
    const methods = servedAt(path).flatMap(({ method }) => (method === 'GET' ? ['HEAD', 'GET'] : [method]))
    const allow = options.headers.get('allow')!.split(', ')
    t.same(allow.sort(), [...new Set([...methods, 'OPTIONS'])].sort(), path)
    if (!at.some(({ method }) => method === 'GET')) continue
    const call = at[0]!.action === 'public' ? {} : { token: ada.access }
    const [get, head] = [await service.call('GET', address, call), await service.call('HEAD', address, call)]
    t.same([head.status, head.body], [get.status, null], path)
    t.equal(head.headers.get('content-type'), get.headers.get('content-type'), path)
  }
})

t.test('every other method is 405 with Allow for all callers', async (t) => {
  const paths = Map.groupBy(routes, ({ path }) => path)
  const verbs = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'MKCOL', 'LOCK', 'PURGE', 'SEARCH']
  for (const [path, at] of paths) {
    const others = verbs.filter((verb) => !servedAt(path).some(({ method }) => method === verb))
    // One of them also with a token, because this answer comes before the caller is known.
    const calls = [...others.map((verb) => ({ verb })), { verb: others[0]!, token: ada.access }]
    for (const { verb, ...call } of calls) {
      const answer = await service.call(verb, addressOf(at[0]!, ...idsOf(at[0]!)), call)
      t.match(answer, { status: 405, body: { code: 'method_not_allowed' } }, `${verb} ${path}`)
      t.match(answer.headers.get('allow'), /OPTIONS/)
    }
  }
})

t.test('the document and the router have the same routes', async (t) => {
  const { body: document } = await service.call('GET', '/openapi.json')
  const documented = Object.entries<Record<string, Record<string, unknown>>>(document.paths).flatMap(
    ([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  const plain = (path: string) => path.replace(/\{\w+\}|:\w+/g, '*').replace(/(.)\/$/, '$1')
  t.same(
    documented.map(({ method, path }) => `${method} ${plain(path)}`).sort(),
    routes.map(({ method, path }) => `${method} ${plain(path)}`).sort(),
  )
  for (const { method, path, operation } of documented) {
    const address = path.replace(/\{\w+\}/g, () => randomUUID())
    const { status } = await service.call(method, address, { body: method === 'GET' ? undefined : {} })
    t.not(status, 405, `${method} ${path} is served`)
    const open = Array.isArray(operation.security) && operation.security.length === 0
    const anonymousAllowed =
      Array.isArray(operation.security) && Object.keys(operation.security[0] ?? {}).length === 0
    if (!open && !anonymousAllowed)
      t.equal(status, 401, `${method} ${path} requires the token that the document names`)
    else t.not(status, 401, `${method} ${path}`)
  }
})

t.test(
  'the document describes the forms of permissions, actions, roles and keys of repeatable calls',
  async (t) => {
    const { body: document } = await service.call('GET', '/openapi.json')
    const post = (path: string) => document.paths[`/api/v1/${path}/`].post
    const fields = (path: string) => {
      const { schema } = post(path).requestBody.content['application/json']
      return (schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)] : schema).properties
    }
    const key = post('tenants').parameters.find(({ name }: { name: string }) => name === 'Idempotency-Key')
    t.equal(new RegExp(key.schema.pattern).test('a key'), false)
    t.equal(new RegExp(fields('users/me/keys').scopes.items.pattern).test('Document'), false)
    const action = new RegExp(fields('policies').actions.items.pattern)
    t.same(
      ['*', 'a:*', 'a:b', 'A:b', 'a'].map((name) => action.test(name)),
      [true, true, true, false, false],
    )
    t.match(fields('service-accounts'), { role: { minLength: 1 }, roles: { minItems: 1, maxItems: 32 } })
  },
)

t.test('an answer with a token or code is no-store, and no other answer is public', async (t) => {
  const pair = await service.call('POST', '/api/v1/auth/login/', {
    body: { email: ada.email, password: ada.password },
  })
  t.equal(pair.headers.get('cache-control'), 'no-store')
  for (const route of decided.filter(({ method, path }) => method === 'GET' && !/:(?!id)/.test(path))) {
    const { headers } = await visit(route, { token: ada.access }, ada.tenantId)
    t.match(headers.get('cache-control'), /no-store|private/, nameOf(route))
  }
  for (const route of routes.filter(({ secret }) => secret)) t.notOk(route.cache, nameOf(route))
})
