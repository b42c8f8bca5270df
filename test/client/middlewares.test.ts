import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { decodeJwt } from 'jose'
import Koa from 'koa'
import t, { type Test } from 'tap'
import {
  type Access,
  createClient,
  createGuard,
  type Guard,
  tokenVerifier,
} from '../../packages/client/exports.ts'
import { expressGuard } from '../../packages/client/express.ts'
import { callerOf, fastifyGuard } from '../../packages/client/fastify.ts'
import { koaGuard } from '../../packages/client/koa.ts'
import { nextGuard } from '../../packages/client/next.ts'
import { colleague } from '../helpers/colleague.ts'
import { startService } from '../helpers/service.ts'
import { codeAt, enrol } from '../identity/otp/authenticator.ts'

const service = await startService(t, { workers: false })
service.advance(Date.now() - service.now()) // jose uses the clock of the machine
const ada = await service.signUp()
const member = await colleague(service, ada)
const { url } = service
const issuer = decodeJwt(ada.access).iss!
const guard = createGuard({ client: createClient({ url }), verify: tokenVerifier({ url, issuer }) })
await guard.ready()
const unreachable = 'http://127.0.0.1:1'
const cut = createGuard({
  client: createClient({ url: unreachable }),
  verify: tokenVerifier({ url: unreachable, issuer }),
})

/** The path says what is asked: `/notes/7` about a note, `/broken` an error of the application, `/me` nothing. */
function accessOf(path: string): Access | undefined {
  if (path === '/broken') throw new Error('an error of the application')
  const [, id] = /^\/notes\/(\w+)$/.exec(path) ?? []
  return id === undefined ? undefined : { action: 'note:read', resource: { type: 'note', id } }
}

async function listening(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Each framework with the same application, which answers the person's address. */
const frameworks: Record<string, (t: Test, guard: Guard) => Promise<string>> = {
  Koa(t, guard) {
    const app = new Koa({ env: 'test' })
    app.silent = true
    app.use(koaGuard(guard, (ctx: Koa.Context) => accessOf(ctx.path) as Access))
    app.use((ctx) => {
      ctx.body = ctx.state.caller.email
    })
    return listening(t, app.callback())
  },
  Express(t, guard) {
    const app = express().set('env', 'test')
    app.use(expressGuard(guard, (req: express.Request) => accessOf(req.path) as Access))
    app.use((_req: express.Request, res: express.Response) => void res.send(res.locals.caller.email))
    return listening(t, app)
  },
  async Fastify(t, guard) {
    const app = fastify()
    app.addHook(
      'preHandler',
      fastifyGuard(guard, (request: { url: string; headers: object }) => accessOf(request.url) as Access),
    )
    app.get('/*', async (request) => callerOf(request)?.email)
    t.teardown(() => app.close())
    return app.listen({ port: 0, host: '127.0.0.1' })
  },
  Next(t, guard) {
    const handle = nextGuard(
      guard,
      (_request: Request, _context: unknown, caller) => new Response(caller.email),
      (request) => accessOf(new URL(request.url).pathname) as Access,
    )
    return listening(t, async ({ url = '', headers }, answer) => {
      const request = new Request(`http://app.example${url}`, { headers: headers as Record<string, string> })
      const given = await handle(request, {}).catch(() => new Response('', { status: 500 }))
      answer.writeHead(given.status, Object.fromEntries(given.headers)).end(await given.text())
    })
  },
}

for (const [name, start] of Object.entries(frameworks))
  t.test(`${name} lets in only whom the guard lets in`, async (t) => {
    const app = await start(t, guard)
    const get = async (path: string, token?: string, at = app) => {
      const answer = await fetch(at + path, { headers: token === undefined ? {} : { authorization: token } })
      return { status: answer.status, text: await answer.text(), headers: answer.headers }
    }
    for (const token of [undefined, 'Basic x', 'Bearer', `Bearer ${ada.refresh}`, `Bearer ${ada.access}x`]) {
      const { status, text, headers } = await get('/me', token)
      t.equal(status, 401, token?.slice(0, 10) ?? 'none')
      t.match(headers.get('content-type'), /^application\/problem\+json/)
      t.match(headers.get('www-authenticate'), /^Bearer/)
      t.match(JSON.parse(text), { status: 401, code: 'not_authenticated' })
    }
    t.match(await get('/me', `Bearer ${member.access}`), { status: 200, text: member.email })
    t.match(await get('/notes/7', `Bearer ${ada.access}`), { status: 200, text: ada.email })
    const denied = await get('/notes/7', `Bearer ${member.access}`)
    t.match(denied, { status: 403 })
    t.match(JSON.parse(denied.text), { code: 'permission_denied' })
    t.equal((await get('/broken', `Bearer ${ada.access}`)).status, 500)

    const guest = await service.signUp()
    t.equal((await get('/notes/7', `Bearer ${guest.access}`)).status, 200)
    await guest.post('/api/v1/auth/logout/')
    const ended = await get('/notes/7', `Bearer ${guest.access}`)
    t.equal(ended.status, 401)
    t.match(JSON.parse(ended.text), { code: 'session_revoked' })

    const isolated = await start(t, cut)
    t.equal((await get('/me', `Bearer ${ada.access}`, isolated)).status, 503)
  })

t.test('a token of a member who acts as another is refused, unless the guard allows it', async (t) => {
  const { secret } = await enrol(service, ada)
  await ada.post('/api/v1/auth/otp/verify/', { code: codeAt(secret, service.now(), 1) })
  const { results } = (await ada.get(`/api/v1/tenants/${ada.tenantId}/members/?user_id=${member.id}`)).body
  const path = `/api/v1/tenants/${ada.tenantId}/members/${results[0].id}/impersonate/`
  const { status, body } = await ada.post(path, { reason: 'Ticket 4711: the list is empty' })
  t.equal(status, 200)
  const refused = await guard(`Bearer ${body.access}`)
  t.match(refused, { refusal: { status: 403, body: /impersonation_not_allowed/ } })
  const allowImpersonation = createGuard({
    client: createClient({ url }),
    verify: tokenVerifier({ url, issuer }),
    allowImpersonation: true,
  })
  await allowImpersonation.ready()
  t.match(await allowImpersonation(`Bearer ${body.access}`), {
    caller: { sub: member.id, act: { sub: ada.id }, email: undefined },
  })
})
