import pino from 'pino'
import t from 'tap'
import { version } from '../../src/settings/version.ts'
import { exchange, requestText } from '../helpers/raw-http.ts'
import { startService } from '../helpers/service.ts'

const origin = 'https://console.example.com'
const service = await startService(t, {
  workers: false,
  env: { CORS_ORIGINS: `${origin}, https://two.example` },
})
const ada = await service.signUp()
const me = '/api/v1/users/me/'
const ask = (headers: Record<string, string>, path = me, method = 'GET') =>
  service.call(method, path, { token: ada.access, headers })

t.test('a valid request id is echoed, another one is replaced, and the answer has it', async (t) => {
  for (const id of ['a', 'A-Z_0.9', 'x'.repeat(128)]) {
    const { headers } = await ask({ 'x-request-id': id })
    t.equal(headers.get('x-request-id'), id)
  }
  for (const id of ['', ' ', 'x'.repeat(129), 'a b', 'a/b', 'é', '<script>']) {
    const made = (await ask({ 'x-request-id': Buffer.from(id).toString('latin1') })).headers.get(
      'x-request-id',
    )
    t.match(made, /^[0-9a-f-]{36}$/, id)
  }
  const refused = await service.call('GET', me, { headers: { 'x-request-id': 'mine' } })
  t.match(refused, { status: 401, body: { instance: 'mine' } })
  const nowhere = await service.call('GET', '/nowhere')
  t.equal(nowhere.body.instance, nowhere.headers.get('x-request-id'))
})

t.test('every answer has the security headers, errors and pages included', async (t) => {
  for (const path of [me, '/nowhere', '/api/v1/users/', '/healthz', '/.well-known/jwks.json']) {
    const { headers } = await service.call('GET', path)
    t.equal(headers.get('x-content-type-options'), 'nosniff', path)
    t.equal(headers.get('x-frame-options'), 'DENY', path)
    t.equal(headers.get('referrer-policy'), 'no-referrer', path)
    t.match(headers.get('content-security-policy'), /frame-ancestors 'none'/, path)
    t.equal(headers.get('strict-transport-security'), null, 'not over plain HTTP')
    t.equal(headers.get('x-powered-by'), null)
    t.equal(headers.get('server'), null)
  }
})

t.test('CORS allows only the configured origins', async (t) => {
  const preflight = {
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'authorization',
  }
  const allowed = await service.call('OPTIONS', me, { headers: { origin, ...preflight } })
  t.equal(allowed.status, 204)
  t.equal(allowed.headers.get('access-control-allow-origin'), origin)
  t.match(allowed.headers.get('access-control-allow-methods'), /PUT/)
  t.match(allowed.headers.get('access-control-allow-headers'), /Authorization/)
  t.equal(allowed.headers.get('access-control-allow-credentials'), null)
  t.match(allowed.headers.get('vary'), /Origin/i)
  const refusal = await service.call('GET', me, { headers: { origin } })
  t.equal(refusal.headers.get('access-control-allow-origin'), origin, 'a browser can read errors, too')
  t.match(refusal.headers.get('access-control-expose-headers'), /WWW-Authenticate/)
  for (const other of [
    'https://evil.example',
    `${origin}.evil.example`,
    'null',
    'http://console.example.com',
    '',
  ]) {
    const { headers, status } = await service.call('OPTIONS', me, {
      headers: { origin: other, ...preflight },
    })
    t.equal(status, 204)
    t.equal(headers.get('access-control-allow-origin'), null, other)
    t.equal(headers.get('access-control-allow-methods'), null, other)
    t.match(headers.get('vary'), /Origin/i)
  }
})

t.test('an Accept that does not allow JSON is 406, and any other is served', async (t) => {
  for (const accept of [
    ...['*/*', 'application/json', 'application/*', 'application/problem+json', 'text/html, */*;q=0.1'],
    ...['application/json; charset=utf-8', 'application/json;q=0.5', 'application/json; version=1.0', ''],
    'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  ])
    t.equal((await ask({ accept })).status, 200, accept)
  for (const accept of ['text/html', 'application/xml', 'image/*', 'application/json;q=0', 'nonsense'])
    t.match(await ask({ accept }), { status: 406, body: { code: 'not_acceptable' } }, accept)
  t.equal((await service.call('GET', '/healthz', { headers: { accept: 'text/plain' } })).status, 200)
})

t.test('an error has the type problem+json, unless Accept names only plain JSON', async (t) => {
  const typeFor = async (accept: string) =>
    (await service.call('GET', me, { headers: { accept } })).headers.get('content-type')?.split(';')[0]
  const problem = 'application/problem+json'
  t.equal(await typeFor('*/*'), problem)
  t.equal(await typeFor(problem), problem)
  t.equal(await typeFor(`application/json, ${problem}`), problem)
  t.equal(await typeFor('application/json, text/plain, */*'), 'application/json')
  t.equal(await typeFor('application/json'), 'application/json')
  t.equal(await typeFor('application/json; charset=utf-8'), 'application/json')
  t.equal(await typeFor('text/html'), problem)
})

t.test('a repeated parameter is refused, and the error names it', async (t) => {
  for (const name of ['cursor', 'page_size', 'constructor', 'toString', 'status', 'errors']) {
    const { status, body } = await ask({}, `/api/v1/users/?${name}=1&${name}=1`)
    t.match(
      { status, body },
      { status: 400, body: { code: 'validation_error', errors: [{ field: name }] } },
      name,
    )
  }
  t.match(await ask({}, '/api/v1/users/?cursor=1&cursor=1'), { body: { cursor: [String] } })
  t.match(
    await ask({}, '/api/v1/users/?status=1&status=1'),
    { body: { status: 400 } },
    'reserved members keep their meaning',
  )
})

t.test('unusual queries are refused, and never cause a failure', async (t) => {
  for (const query of [
    'cursor=%00',
    'cursor=%ED%A0%80',
    'cursor=%',
    'cursor=%zz',
    'cursor=%ff',
    'page_size=%00',
  ])
    t.equal((await ask({}, `/api/v1/users/?${query}`)).status, 400, query)
  for (const query of ['=', '=1', 'unknown=1', 'page_size[]=1', '%00=1', 'a[__proto__][b]=1'])
    t.match(
      await ask({}, `/api/v1/users/?${query}`),
      { status: 400, body: { code: 'unknown_parameter' } },
      query,
    )
  for (const query of ['', '?', '&&&']) t.equal((await ask({}, `/api/v1/users/?${query}`)).status, 200, query)
})

t.test('an address can have 8192 characters', async (t) => {
  const padded = (length: number) => `${me}?${'_'.repeat(length - me.length - 1)}`
  t.equal((await ask({}, padded(8_192))).status, 200)
  for (const length of [8_193, 12_000, 20_000, 60_000])
    t.match(await ask({}, padded(length)), { status: 414, body: { code: 'uri_too_long' } }, `${length}`)
})

t.test('an invalid Host is refused, because no program can trust it', async (t) => {
  const answered = async (lines: string) =>
    (await exchange(service.url, [`GET /healthz ${lines}\r\n\r\n`])).answers[0]
  for (const host of [
    'evil:x@localhost',
    'a b',
    'localhost/x',
    'http://localhost',
    'a\\b',
    '[::1',
    '[evil]',
    'a:b',
  ])
    t.match(await answered(`HTTP/1.1\r\nHost: ${host}`), { status: 400, body: /"code":"parse_error"/ }, host)
  t.match(await answered('HTTP/1.1'), { status: 400, body: /"code":"parse_error"/ }, 'none')
  for (const host of ['localhost', 'id.example.com:443', '10.0.0.1:3000', '[::1]:3000', 'my_service', ''])
    t.match(await answered(`HTTP/1.1\r\nHost: ${host}`), { status: 200 }, host)
  t.match(await answered('HTTP/1.0'), { status: 200 }, 'HTTP/1.0 has no Host')
})

t.test('unusual addresses are not found', async (t) => {
  const odd = [
    ...[
      '//',
      '/.',
      '/..',
      '/%2e%2e/',
      '/api',
      '/api/',
      '/api/v1',
      '/api/v1/',
      '/api//v1/users/me/',
      '/api/v2/users/me/',
    ],
    ...[
      '/api/v1/users/me/x',
      '/api/v1/users/%',
      '/api/v1/users/%zz/',
      '/api/v1/users/%00/',
      '/api/v1/users/%ff/',
    ],
    ...[
      '/api/v1/users/%2e%2e%2ftenants/',
      '/api/v1/users/..;/',
      '/api/v1/tenants/%ED%A0%80/',
      '/API/V1/users/nobody/',
    ],
    ...[
      '/api/v1/users/__proto__/',
      '/api/v1/users/constructor/',
      "/api/v1/users/' or 1=1 --/",
      '*',
      '/\\evil',
    ],
  ]
  for (const target of odd) {
    const text = requestText('GET', target.replaceAll(' ', '%20'), { authorization: `Bearer ${ada.access}` })
    const [answer] = (await exchange(service.url, [text])).answers
    t.match(answer, { status: 404, body: /"code":"not_found"/ }, target)
  }
})

t.test(
  'a message that is not HTTP gets a short error in the usual form, and the connection closes',
  async (t) => {
    const bearer = { authorization: `Bearer ${ada.access}` }
    const junk: Record<string, string | Buffer> = {
      'no HTTP': 'hello\r\n\r\n',
      'binary junk': Buffer.from(Array.from({ length: 600 }, (_, i) => (i * 89) % 256)),
      'a TLS hello': Buffer.from('16030100a5010000a10303', 'hex'),
      'an unknown method': 'FETCH / HTTP/1.1\r\nHost: localhost\r\n\r\n',
      'an unknown version': 'GET / HTTP/9.9\r\nHost: localhost\r\n\r\n',
      'two lengths': 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      'a negative length': 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n',
      'length and chunks': requestText('POST', me, {
        ...bearer,
        'content-length': '3',
        'transfer-encoding': 'chunked',
      }),
      'invalid chunks': requestText('PUT', me, { ...bearer, 'transfer-encoding': 'chunked' }, 'zz\r\n'),
      'another transfer coding': requestText('PUT', me, { ...bearer, 'transfer-encoding': 'gzip' }, 'x'),
      'a folded header': 'GET /healthz HTTP/1.1\r\nHost: a\r\n b\r\n\r\n',
      'NUL in a header': 'GET /healthz HTTP/1.1\r\nHost: a\0b\r\n\r\n',
      'headers without an end': `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(200_000)}\r\n\r\n`,
    }
    for (const [what, bytes] of Object.entries(junk)) {
      const { answers, closed } = await exchange(service.url, [bytes], { untilClosed: true })
      t.ok(closed, `${what}: the connection closes`)
      t.equal(answers.length, 1, what)
      const [answer] = answers
      t.ok(answer && answer.status >= 400 && answer.status < 500, `${what}: ${answer?.status}`)
      t.match(JSON.parse(answer?.body || '{}'), { status: answer?.status, code: String }, what)
    }
    t.equal((await service.call('GET', '/healthz')).status, 200)
  },
)

t.test('a request whose client disconnects changes nothing and causes no failure', async (t) => {
  const whole = requestText(
    'POST',
    '/api/v1/tenants/',
    { authorization: `Bearer ${ada.access}`, 'content-type': 'application/json' },
    '{"name":"never founded"}',
  )
  for (let length = 1; length < whole.length; length += 41)
    await exchange(service.url, [whole.subarray(0, length)], { ms: 30 })
  t.equal((await ada.get('/api/v1/tenants/')).body.count, 1)
})

t.test('pipelined requests on one connection are answered in order', async (t) => {
  const row = ['/healthz', '/nowhere', '/.well-known/jwks.json', me].map((path, i) =>
    requestText('GET', path, { 'x-request-id': `r${i}` }),
  )
  const { answers } = await exchange(service.url, row, { expected: 4 })
  t.same(
    answers.map(({ status, headers }) => [status, headers['x-request-id']]),
    [
      [200, 'r0'],
      [404, 'r1'],
      [200, 'r2'],
      [401, 'r3'],
    ],
  )
})

t.test('headers that claim another user or address are ignored', async (t) => {
  for (const headers of [
    { 'x-tenant-id': '019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b' },
    { 'x-user-id': '019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b' },
    { 'x-http-method-override': 'DELETE' },
    { 'x-original-url': '/healthz', 'x-rewrite-url': '/healthz' },
    { 'x-forwarded-host': `${' '.repeat(90)}evil`, 'x-forwarded-proto': 'https', forwarded: 'host=evil' },
    { cookie: `access=${ada.access}` },
  ])
    t.match(await ask(headers as never), {
      status: 200,
      body: { id: ada.id, current_tenant: { id: ada.tenantId } },
    })
  t.equal((await service.call('GET', `${me}?access_token=${ada.access}&token=${ada.access}`)).status, 401)
  t.equal((await service.call('GET', me, { headers: { cookie: `access=${ada.access}` } })).status, 401)
})

t.test('the mailbox answers only requests of this machine with its own host name', async (t) => {
  const statusFor = async (host: string) =>
    (await exchange(service.url, [requestText('GET', '/dev/mailbox', { host })])).answers[0]?.status
  for (const host of ['localhost', 'localhost:3000', '127.0.0.1:80', '[::1]:80'])
    t.equal(await statusFor(host), 200, host)
  for (const host of [
    'evil.example',
    'localhost.evil.example',
    'evil:x@localhost',
    'localhost@evil.example',
    '127.0.0.1.evil.example',
  ])
    t.not(await statusFor(host), 200, host)
})

t.test('the root redirects browsers to the documentation, and gives other clients its address', async (t) => {
  const { status, body, headers } = await service.call('GET', '/', { headers: { accept: '*/*' } })
  t.equal(status, 200)
  t.match(headers.get('vary'), /accept/i)
  const { url } = service
  t.strictSame(body, {
    name: 'Bailiwick',
    version,
    documentation: `${url}/docs`,
    openapi: `${url}/openapi.json`,
    console: `${service.url}/console/`,
    ...service.deps.signer.names(),
  })
  for (const link of [body.documentation, body.openapi]) t.equal((await fetch(link)).status, 200, link)
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const browser = await fetch(service.url, { headers: { accept }, redirect: 'manual' })
  t.equal(browser.status, 302)
  t.equal(browser.headers.get('location'), '/console/')
})

t.test('a proxy that is not trusted is reported once', async (t) => {
  const lines: string[] = []
  const logTo = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const behindProxy = await startService(t, { workers: false, logTo })
  for (let n = 0; n < 3; n++)
    await behindProxy.call('GET', '/healthz', { headers: { 'x-forwarded-for': '203.0.113.7' } })
  t.equal(lines.filter((line) => line.includes('TRUSTED_PROXIES is not set')).length, 1)
})
