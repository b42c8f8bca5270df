import { decodeJwt } from 'jose'
import t from 'tap'
import {
  bearer,
  clientCredentials,
  createClient,
  isProblem,
  keepFresh,
  NoAnswer,
  Problem,
  TokenNotValid,
  type TokenPair,
  tokenVerifier,
} from '../../packages/client/exports.ts'
import { openOffice } from '../authorization/approvals/office.ts'
import { colleague } from '../helpers/colleague.ts'
import { startService } from '../helpers/service.ts'
import { openMachine } from '../oauth/relying-party.ts'

const service = await startService(t)
service.advance(Date.now() - service.now()) // jose uses the clock of the machine
const ada = await service.signUp()
const { url } = service
const client = createClient({ url: `${url}/`, credentials: bearer(ada.access) })
const issuer = decodeJwt(ada.access).iss!

/** A way to the service that loses answers: `lose` says of which requests, after they had their effect. */
function lossy(lose: (request: number) => boolean) {
  const sent: { url: string; headers: Headers }[] = []
  const send: typeof fetch = async (input, init) => {
    sent.push({ url: String(input), headers: new Headers(init?.headers) })
    const answer = await fetch(input, init)
    if (lose(sent.length)) throw new TypeError('connection reset')
    return answer
  }
  return { sent, fetch: send }
}

t.test('calls have the types and answers of the API', async (t) => {
  const me = await client.call('GET /users/me/')
  t.match(me, { email: ada.email })
  const tenant = await client.callVersioned('GET /tenants/{id}/', { path: { id: ada.tenantId } })
  const name = 'Weavers'
  const path = { id: ada.tenantId }
  const changed = await client.call('PATCH /tenants/{id}/', { path, body: { name }, ifMatch: tenant.etag! })
  t.equal(changed.name, name)
  const late = client.call('PATCH /tenants/{id}/', { path, body: { name }, ifMatch: tenant.etag! })
  await t.rejects(late, { status: 412, code: 'precondition_failed' })
  t.equal(
    await client
      .call('DELETE /auth/sessions/{id}/', { path: { id: decodeJwt(ada.access).sid as string } })
      .then(() => undefined),
    undefined,
  )
  Object.assign(ada, await service.logIn(ada))
})

t.test('a refusal is a Problem with code, faults and members', async (t) => {
  const again = createClient({ url, credentials: bearer(ada.access) })
  const error = await again.call('POST /tenants/', { body: { name: '', slug: 'a b' } }).catch((e) => e)
  t.ok(error instanceof Problem && isProblem(error, 'validation_error'))
  t.match(error, { status: 400, errors: [{ field: 'name' }], message: /\w/ })
  t.notOk(isProblem(error, 'slug_taken'))
  const limited = createClient({ url, credentials: bearer((await colleague(service, ada)).access) })
  const denied = await limited
    .call('POST /tenants/{id}/roles/', { path: { id: ada.tenantId }, body: { name: 'x' } })
    .catch((e) => e)
  t.match(denied, { status: 403, members: { decision_id: /^[0-9a-f-]{36}$/, reasons: [{ code: /\w/ }] } })
  await t.rejects(createClient({ url: 'http://127.0.0.1:1' }).call('GET /users/me/'), NoAnswer)
})

t.test('a value of the path that is no id is refused before anything is sent', async (t) => {
  const way = lossy(() => false)
  const careful = createClient({ url, credentials: bearer(ada.access), fetch: way.fetch })
  for (const id of ['', '..', '.', 'a/b', '%2e%2e', '?x', 'a b'])
    await t.rejects(careful.call('DELETE /tenants/{id}/', { path: { id } }), TypeError, id)
  for (const resource_id of ['', '.', '..', 'a/../b', '../auth/logout', 'a\\..'])
    await t.rejects(
      careful.call('GET /resources/{resource_type}/{resource_id}/', {
        path: { resource_type: 'file', resource_id },
      }),
      TypeError,
      resource_id,
    )
  t.equal(way.sent.length, 0)
})

t.test('a call that needs an approval is stored, or made at once without one', async (t) => {
  const { owner, asker } = await openOffice(service, {}, { actions: ['department:delete'] })
  const mine = createClient({ url, credentials: bearer(asker.access) })
  const path = { id: owner.tenantId }
  const { id: did } = await mine.call('POST /tenants/{id}/departments/', { path, body: { name: 'Looms' } })
  const stored = await mine.callOrStore('DELETE /tenants/{id}/departments/{did}/', { path: { ...path, did } })
  t.match(stored, { approval_request: { status: 'pending', id: String, url: String } })
  const changed = await mine.callOrStore('PATCH /tenants/{id}/departments/{did}/', {
    path: { ...path, did },
    body: { name: 'Dye works' },
  })
  t.match(changed, { id: did, name: 'Dye works' })
})

t.test('a deadline ends a call, with the repetitions that would come after it', async (t) => {
  let asked = 0
  const busy: typeof fetch = async () => {
    asked++
    return new Response('{"code":"throttled"}', { status: 429, headers: { 'retry-after': '1' } })
  }
  const hurried = createClient({ url, fetch: busy })
  await t.rejects(hurried.call('GET /users/me/', { deadlineMs: 500 }), { status: 429, code: 'throttled' })
  t.equal(asked, 1)
  const silent: typeof fetch = () => new Promise(() => undefined)
  const waiting = createClient({ url, fetch: silent }).call('GET /users/me/', { deadlineMs: 20 })
  await t.rejects(waiting, NoAnswer)
})

t.test('a resource can have any other name', async (t) => {
  const own = createClient({ url, credentials: bearer((await service.signUp()).access) })
  for (const resource_id of ['docs/2026/plan.md', 'a b', '?x#y', '%2e%2e', 'ü', '100%', '.hidden']) {
    const path = { resource_type: 'file', resource_id }
    const put = await own.call('PUT /resources/{resource_type}/{resource_id}/', { path, body: {} })
    t.equal(put.resource_id, resource_id)
    const read = await own.call('GET /resources/{resource_type}/{resource_id}/', { path })
    t.equal(read.resource_id, resource_id)
    await own.call('DELETE /resources/{resource_type}/{resource_id}/', { path })
  }
})

t.test('an answer of another server is not followed', async (t) => {
  const { createServer } = await import('node:http')
  const other = createServer((_request, answer) =>
    answer.writeHead(307, { location: `${url}/api/v1/users/me/` }).end(),
  )
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const { port } = other.address() as { port: number }
  const led = createClient({ url: `http://127.0.0.1:${port}`, credentials: bearer(ada.access) })
  await t.rejects(led.call('POST /tenants/', { body: { name: 'x' }, signal: AbortSignal.timeout(5_000) }))
})

t.test('calls that need a new pair at the same time share one refresh', async (t) => {
  const way = lossy(() => false)
  const saved: TokenPair[] = []
  const { access: _, refresh } = await service.logIn(ada)
  const credentials = keepFresh({ access: 'expired', refresh }, (pair) => saved.push(pair))
  const fresh = createClient({ url, credentials, fetch: way.fetch })
  const answers = await Promise.all(Array.from({ length: 8 }, () => fresh.call('GET /users/me/')))
  t.ok(answers.every((me) => 'email' in me && me.email === ada.email))
  t.equal(way.sent.filter(({ url }) => url.endsWith('/auth/refresh/')).length, 1)
  t.strictSame(saved, [credentials.pair])

  const { id } = await fresh.call('POST /tenants/', { body: { name: 'Second' } })
  await credentials.replace(await fresh.call('POST /auth/switch-tenant/', { body: { tenant_id: id } }))
  t.equal((await fresh.call('GET /users/me/')).current_tenant?.id, id)
})

t.test('a pair that cannot be refreshed, or not be stored, ends the call', async (t) => {
  const ended = keepFresh({ access: 'expired', refresh: 'none' })
  await t.rejects(createClient({ url, credentials: ended }).call('GET /users/me/'), {
    code: 'token_not_valid',
  })
  const { refresh } = await service.logIn(ada)
  const full = keepFresh({ access: 'expired', refresh }, () => Promise.reject(new Error('disk full')))
  await t.rejects(createClient({ url, credentials: full }).call('GET /users/me/'), /disk full/)
  t.equal(full.pair.access, 'expired')
})

t.test('a call is repeated only if its repetition has no second effect', async (t) => {
  const path = { id: ada.tenantId }
  const lossyClient = (lose: (request: number) => boolean) => {
    const way = lossy(lose)
    return { way, client: createClient({ url, credentials: bearer(ada.access), fetch: way.fetch }) }
  }
  const first = lossyClient((request) => request === 1)
  const role = await first.client.call('POST /tenants/{id}/roles/', { path, body: { name: 'Once' } })
  t.equal(first.way.sent.length, 2, 'a lost answer is asked for again')
  const [one, two] = first.way.sent.map(({ headers }) => headers.get('idempotency-key'))
  t.ok(one && one === two, 'with the same key')
  const rows = []
  for await (const row of client
    .as(bearer(ada.access))
    .each('GET /tenants/{id}/roles/', { path, query: { search: 'Once' } }))
    rows.push(row)
  const { warnings: _, ...made } = role
  t.same(rows, [made], 'and one role was created')

  const patch = lossyClient(() => true)
  const at = { ...path, rid: role.id }
  await t.rejects(
    patch.client.call('PATCH /tenants/{id}/roles/{rid}/', { path: at, body: { name: 'Two' } }),
    NoAnswer,
  )
  t.equal(patch.way.sent.length, 1, 'a PATCH is sent once')

  const gone = lossyClient((request) => request === 1)
  t.equal(await gone.client.call('DELETE /tenants/{id}/roles/{rid}/', { path: at }), undefined)
  t.equal(gone.way.sent.length, 2, 'a DELETE that finds nothing the second time has succeeded')

  const down = lossyClient(() => true)
  await t.rejects(down.client.call('GET /users/me/'), NoAnswer)
  t.equal(down.way.sent.length, 3)
  const stopped = AbortSignal.abort(new Error('closed'))
  await t.rejects(client.call('GET /users/me/', { signal: stopped }), /closed/)
})

t.test('the rows of a list come over all its pages', async (t) => {
  const bob = await service.signUp()
  const path = { id: bob.tenantId }
  const mine = createClient({ url, credentials: bearer(bob.access) })
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    await mine.call('POST /tenants/{id}/departments/', { path, body: { name } })
  const names: string[] = []
  const query = { page_size: 2, ordering: 'name' } as const
  for await (const { name } of mine.each('GET /tenants/{id}/departments/', { path, query })) names.push(name)
  t.strictSame(names, ['a', 'b', 'c', 'd', 'e'])
})

t.test('only an access token of this issuer for this audience verifies', async (t) => {
  const { access, refresh } = await service.logIn(ada)
  const verify = tokenVerifier({ url, issuer })
  t.match(await verify(access), { sub: ada.id, tenant_id: ada.tenantId, roles: ['owner'], acr: 'aal1' })
  const [head, body, signature] = access.split('.')
  const none = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')
  const hs = Buffer.from('{"alg":"HS256","typ":"at+jwt"}').toString('base64url')
  const bad = [
    refresh,
    '',
    'x',
    `${head}.${body}.`,
    `${none}.${body}.`,
    `${hs}.${body}.${signature}`,
    `${access}x`,
  ]
  for (const token of bad) await t.rejects(verify(token), TokenNotValid, token.slice(0, 20))
  await t.rejects(tokenVerifier({ url, issuer: 'https://other.example' })(access), TokenNotValid)
  await t.rejects(tokenVerifier({ url, issuer, audience: 'other' })(access), TokenNotValid)
  await t.rejects(
    tokenVerifier({ url: 'http://127.0.0.1:1', issuer })(access),
    NoAnswer,
    'no keys, no answer',
  )
})

t.test(
  'authorize is false without an answer in time, and with an obligation that is not carried out',
  async (t) => {
    const person = await service.signUp()
    const mine = createClient({ url, credentials: bearer(person.access) })
    const question = {
      subject: { type: 'user', id: person.id },
      action: { name: 'note:read' },
      resource: { type: 'note', id: '1' },
    }
    t.equal(await mine.authorize(question), true)
    t.equal(await mine.as(bearer('wrong')).authorize(question), false)
    const failures: unknown[] = []
    const onFailure = (error: unknown) => void failures.push(error)
    const silent: typeof fetch = (_input, init) =>
      new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(new Error('aborted'))))
    const waiting = createClient({ url, credentials: bearer(person.access), fetch: silent })
    t.equal(await waiting.authorize(question, { deadlineMs: 20, onFailure }), false)
    const answering = (body: unknown) =>
      createClient({ url, fetch: async () => new Response(JSON.stringify(body)) }).authorize(question, {
        onFailure,
      })
    for (const body of [{ decision: 'true' }, { decision: true }, {}, null, []])
      t.equal(await answering(body), false)
    t.equal(failures.length, 6)

    const policy = {
      name: 'Masked',
      effect: 'allow',
      actions: ['note:read'],
      resource_types: ['note'],
      obligations: [{ type: 'watermark', properties: {} }],
    } as const
    await mine.call('POST /policies/', { body: policy as never })
    t.equal(await mine.authorize(question), false)
    t.equal(await mine.authorize(question, { obligations: ['watermark'] }), true)
  },
)

t.test('a machine signs in once for all calls, and again when its token is refused', async (t) => {
  const { client: machine, secret } = await openMachine(service, ada)
  const asked: string[] = []
  const counting: typeof fetch = (input, init) => {
    asked.push(String(input))
    return fetch(input, init)
  }
  const options = { url, clientId: machine.id, clientSecret: secret, fetch: counting }
  const credentials = clientCredentials({ ...options, scope: 'member:list' })
  const program = createClient({ url, credentials })
  const list = () => program.call('GET /tenants/{id}/members/', { path: { id: ada.tenantId } })
  const [first] = await Promise.all([list(), list(), list()])
  t.ok(first.results.length > 0)
  await list()
  t.same(asked, [`${url}/oauth/token`])
  const used = await credentials.token()
  t.equal(decodeJwt(used).scope, 'member:list')
  await credentials.renew!('another one', async () => ({}) as TokenPair)
  t.equal(await credentials.token(), used)
  await credentials.renew!(used, async () => ({}) as TokenPair)
  await list()
  t.equal(asked.length, 2)
  const wrong = createClient({ url, credentials: clientCredentials({ ...options, clientSecret: 'bws_x' }) })
  await t.rejects(wrong.call('GET /users/me/'), { name: 'Problem', code: 'invalid_client', status: 401 })
})
