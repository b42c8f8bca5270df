import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { decodeJwt } from 'jose'
import t from 'tap'
import { startService } from '../helpers/service.ts'
import { foundFirm } from '../tenancy/staff.ts'
import { install } from './stranger.ts'

// The client of 0.2 against the service of this checkout, so that an application can be upgraded after the service. The
// archive is what `npm run client` packed at 3c133c868afae6542d5699860c0574c892ab2120, the last commit of 0.2.

const archive = join(import.meta.dirname, 'releases', 'bailiwick-client-0.2.0.tgz')
const installed = await install(t.testdir(), archive, [])
const from = (name: string) => import(pathToFileURL(join(installed, `${name}.js`)).href)
const { bearer, createClient, createGuard, isProblem, keepFresh, tokenVerifier } = await from('exports')

const service = await startService(t, { workers: false })
service.advance(Date.now() - service.now()) // jose uses the clock of the machine
const { url } = service
const { issuer } = service.deps.signer.names()
const open = createClient({ url })

t.test('people register, log in, refresh, switch tenants, and call', async (t) => {
  const body = { email: 'ada@example.com', password: 'a quiet harbour of notes' }
  await open.call('POST /auth/register/', { body })
  const credentials = keepFresh(await open.call('POST /auth/login/', { body }))
  const client = open.as(credentials)
  const first = credentials.pair
  await credentials.renew(first.access, (refresh: string) =>
    open.call('POST /auth/refresh/', { body: { refresh } }),
  )
  t.not(credentials.pair.refresh, first.refresh)
  const { id } = await client.call('POST /tenants/', { body: { name: 'Looms' } })
  const { refresh } = credentials.pair
  await credentials.replace(
    await client.call('POST /auth/switch-tenant/', { body: { tenant_id: id, refresh } }),
  )
  t.match(await client.call('GET /users/me/'), { email: body.email, current_tenant: { id } })
  for (const name of ['Reader', 'Writer', 'Editor'])
    await client.call('POST /tenants/{id}/roles/', { path: { id }, body: { name } })
  const names: string[] = []
  const query = { page_size: 2, ordering: 'name', is_system: false }
  for await (const role of client.each('GET /tenants/{id}/roles/', { path: { id }, query }))
    names.push(role.name)
  t.same(names, ['Editor', 'Reader', 'Writer'])
  const tenant = await client.callVersioned('GET /tenants/{id}/', { path: { id } })
  const change = { path: { id }, body: { name: 'Weavers' }, ifMatch: tenant.etag }
  t.equal((await client.call('PATCH /tenants/{id}/', change)).name, 'Weavers')
  const late = await client.call('PATCH /tenants/{id}/', change).catch((error: unknown) => error)
  t.ok(isProblem(late, 'precondition_failed'))
})

t.test('its guards and evaluations decide as before', async (t) => {
  const { owner, role, hire } = await foundFirm(service)
  const reader = await hire(await role('note:read'), 'member')
  const guard = createGuard({ client: open, verify: tokenVerifier({ url, issuer }) })
  const access = (verb: string) => () => ({ action: `note:${verb}`, resource: { type: 'note', id: '1' } })
  t.match(await guard(`Bearer ${reader.access}`), { caller: { sub: reader.id, email: reader.email } })
  t.match(await guard(`Bearer ${reader.access}`, access('read')), { caller: { sub: reader.id } })
  t.match(await guard(`Bearer ${reader.access}`, access('delete')), { refusal: { status: 403 } })
  t.match(await guard(`Bearer ${owner.access}`, access('delete')), { caller: { sub: owner.id } })
  t.match(await guard('Bearer x'), { refusal: { status: 401 } })
  await reader.post('/api/v1/auth/logout/')
  t.match(await guard(`Bearer ${reader.access}`, access('read')), { refusal: { status: 403 } })

  const question = (name: string) => ({
    subject: { type: 'user', id: owner.id },
    action: { name },
    resource: { type: 'note', id: '1' },
  })
  const mine = open.as(bearer(owner.access))
  t.equal(await mine.authorize(question('note:read')), true)
  t.equal(await mine.authorize({ ...question('note:read'), subject: { type: 'user', id: reader.id } }), true)
  const answer = await mine.call('POST /access/evaluation', { body: question('note:read') })
  t.match(answer, { decision: true, context: { effect: 'allow', obligations: [] } })
  const { evaluations } = await mine.call('POST /access/evaluations', {
    body: { evaluations: [question('note:read'), question('note:delete')] },
  })
  t.equal(evaluations.length, 2)
  t.match(decodeJwt(owner.access), { iss: issuer })
})

t.test('its middlewares answer as before', async (t) => {
  const person = await service.signUp()
  const { nextGuard } = await from('next')
  const guard = createGuard({ client: open, verify: tokenVerifier({ url, issuer }) })
  const handle = nextGuard(guard, (_request: Request, _context: unknown, caller: { email: string }) =>
    Response.json(caller.email),
  )
  const headers = { authorization: `Bearer ${person.access}` }
  const answer = await handle(new Request('http://app.example/', { headers }), {})
  t.equal(await answer.json(), person.email)
  t.equal((await handle(new Request('http://app.example/'), {})).status, 401)
})
