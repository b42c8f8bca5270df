import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { pino } from 'pino'
import t from 'tap'
import { z } from 'zod'
import { securityHeaders } from '../../src/http/headers.ts'
import { answerErrors } from '../../src/http/problem.ts'
import { docsPages } from '../../src/pages/docs/api-docs.ts'
import { openapiDocument } from '../../src/pages/docs/openapi.ts'
import { dispatch } from '../../src/request/registry.ts'
import { route } from '../../src/request/route.ts'

const confirm = route({
  access: 'public',
  method: 'POST',
  path: '/api/v1/auth/email/verify/confirm',
  tag: 'E-mail',
  summary: 'Confirm an address',
  body: z.object({ token: z.string() }),
  status: 200,
  answer: z.object({ message: z.string() }),
  handle: async () => ({ message: 'Email verified' }),
})
const document = openapiDocument([confirm], { publicUrl: 'https://id.example.com', version: '1.2.3' })

const pages = Object.entries(docsPages(() => document))
const app = new Koa()
  .use(securityHeaders(false))
  .use(answerErrors(pino({ level: 'silent' })))
  .use(dispatch(pages.map(([path, handle]) => ({ method: 'GET', path, handle }))))
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => server.close())

const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const get = (path: string, headers?: Record<string, string>) => fetch(`${base}${path}`, { headers })
const referencesOf = (html: string) => [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, to]) => to!)
const policyOf = (answer: Response) => answer.headers.get('content-security-policy') ?? ''

t.test('the docs page refers only to files of this service, and all of them exist', async (t) => {
  for (const path of ['/docs', '/docs/']) {
    const answer = await get(path)
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
    const references = referencesOf(await answer.text())
    t.ok(references.length >= 4)
    for (const to of references) {
      t.match(to, /^\/[a-z]/, `${to} is on this origin`)
      t.equal((await get(to)).status, 200, to)
    }
  }
})

t.test('the docs page can load from this origin only, and runs no inline script', async (t) => {
  const answer = await get('/docs')
  t.match(policyOf(answer), /^default-src 'none'; script-src 'self'; .*require-trusted-types-for 'script'/)
  t.notMatch(policyOf(answer), 'unsafe')
  t.notMatch(await answer.text(), /<script(?![^>]*src=)|style=|<style/)
})

t.test('the document is served unchanged, and clients must revalidate it', async (t) => {
  const answer = await get('/openapi.json')
  t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  t.equal(answer.headers.get('cache-control'), 'no-cache')
  t.same(await answer.json(), JSON.parse(JSON.stringify(document)))
  const etag = answer.headers.get('etag')!
  // Without our Cache-Control, fetch would send no-cache, which requests the whole document again.
  const again = await get('/openapi.json', { 'If-None-Match': etag, 'Cache-Control': 'max-age=0' })
  t.equal(again.status, 304)
  t.equal(await again.text(), '')
})

t.test(
  'a file with its version in the address is cached forever; without it, or with another one, it is revalidated',
  async (t) => {
    const style = referencesOf(await (await get('/docs')).text()).find((to) => to.includes('.css'))!
    t.match((await get(style)).headers.get('cache-control'), 'immutable')
    t.equal((await get('/docs/swagger-ui.css')).headers.get('cache-control'), 'no-cache')
    t.equal((await get('/docs/swagger-ui.css?v=older')).headers.get('cache-control'), 'no-cache')
  },
)

t.test('the compressed file is equal to the uncompressed one', async (t) => {
  const [packed, plain] = await Promise.all(
    ['gzip', 'identity'].map((encoding) =>
      get('/docs/swagger-ui-bundle.js', { 'Accept-Encoding': encoding }),
    ),
  )
  t.equal(packed!.headers.get('content-encoding'), 'gzip')
  t.equal(plain!.headers.get('content-encoding'), null)
  t.equal(packed!.headers.get('vary'), 'Accept-Encoding')
  t.ok(Number(packed!.headers.get('content-length')) < Number(plain!.headers.get('content-length')) / 2)
  t.equal(await packed!.text(), await plain!.text())
})

t.test('no other file of the packages or of the service is served', async (t) => {
  for (const path of [
    '/docs/package.json',
    '/docs/index.html',
    '/docs/../package.json',
    '/docs/..%2fpackage.json',
    '/docs/swagger-ui.css/..%2f..%2fpackage.json',
    '/docs/__proto__',
  ])
    t.equal((await get(path)).status, 404, path)
})

t.test('a page answers HEAD, and other methods with 405', async (t) => {
  const head = await fetch(`${base}/docs`, { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(await head.text(), '')
  const post = await fetch(`${base}/docs`, { method: 'POST' })
  t.equal(post.status, 405)
  t.equal(policyOf(post), "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
})
