import { gzipSync } from 'node:zlib'
import t from 'tap'
import { cpuTime } from '../helpers/cpu-time.ts'
import { exchange, requestText } from '../helpers/raw-http.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })
const ada = await service.signUp()
const tenants = '/api/v1/tenants/'
const json = { 'content-type': 'application/json' }
const bearer = { authorization: `Bearer ${ada.access}` }
const count = async () => (await ada.get(tenants)).body.count

/** Creates a tenant with exactly these bytes as the body. */
async function found(body: string | Buffer, headers: Record<string, string> = json) {
  const { answers } = await exchange(service.url, [
    requestText('POST', tenants, { ...bearer, ...headers }, body),
  ])
  const [answer] = answers
  return { status: answer?.status, body: JSON.parse(answer?.body || 'null') }
}

const chunked = (bytes: Buffer, size = 16_384) => {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) {
    const part = bytes.subarray(at, at + size)
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

t.test('a body that is not a JSON object in UTF-8 is refused, and nothing is created', async (t) => {
  const before = await count()
  const nested = (open: string, close: string, times: number) =>
    `{"name":"deep","x":${open.repeat(times)}${close.repeat(times)}}`
  const refused: Record<string, string | Buffer> = {
    'half an object': '{"name":"half',
    'a trailing comma': '{"name":"a",}',
    'a comment': '{"name":"a"/*b*/}',
    'two values': '{"name":"a"}{"name":"b"}',
    'a bare word': 'name',
    'a list': '[{"name":"a"}]',
    'a text': '"name"',
    'a number': '7',
    null: 'null',
    'NUL in a text': '{"name":"a\\u0000b"}',
    'NUL in a name': '{"name":"a","b\\u0000":1}',
    'NUL outside a text': '{"name":"a"}\0',
    'a lone high surrogate': '{"name":"a\\ud800"}',
    'a lone surrogate in capitals': '{"name":"a\\uDBFF"}',
    'a lone surrogate in a list': '{"name":"a","b":[0,["\\udfff"]]}',
    'a lone low surrogate': '{"name":"\\udc00a"}',
    'bytes that are not UTF-8': Buffer.from([...Buffer.from('{"name":"'), 0xc3, 0x28, 0x22, 0x7d]),
    'an overlong slash': Buffer.from([...Buffer.from('{"name":"'), 0xc0, 0xaf, 0x22, 0x7d]),
    'a surrogate in UTF-8': Buffer.from([...Buffer.from('{"name":"'), 0xed, 0xa0, 0x80, 0x22, 0x7d]),
    '33 levels': nested('[', ']', 32),
    '100,000 nested lists': '['.repeat(100_000),
    '100,000 nested objects': '{"a":'.repeat(100_000),
  }
  for (const [what, body] of Object.entries(refused))
    t.match(await found(body), { status: 400, body: { code: 'parse_error' } }, what)
  t.equal(await count(), before)
})

t.test('a foreign token is refused before the body has arrived', async (t) => {
  const headers = { ...json, 'content-length': '100' }
  for (const authorization of ['', 'Bearer x', `Bearer ${ada.access.slice(0, -8)}AAAAAAAA`]) {
    const head = requestText('POST', tenants, { ...headers, ...(authorization && { authorization }) })
    const { answers } = await exchange(service.url, [head, '{'])
    t.match(answers, [{ status: 401 }], authorization)
  }
})

t.test('the parser takes 32 levels', async (t) => {
  const deep = `{"name":"deep","x":${'['.repeat(31)}${']'.repeat(31)}}`
  t.match(await found(deep), { status: 400, body: { errors: [{ field: 'x', code: 'unknown_field' }] } })
})

t.test('well-formed JSON is accepted in every notation', async (t) => {
  const taken: Record<string, string | Buffer> = {
    'brackets in a text': JSON.stringify({ name: '[[[['.repeat(30) }),
    'a byte order mark': '\ufeff{"name":"mark"}',
    'space around it': ' \r\n\t{"name":"space"}\n',
    'escaped pairs of surrogates': '{"name":"\\ud83d\\ude00"}',
    'the last of two values of a name': '{"name":1,"name":"twice"}',
  }
  for (const [what, body] of Object.entries(taken)) t.equal((await found(body)).status, 201, what)
})

t.test('only uncompressed JSON is accepted', async (t) => {
  const body = '{"name":"typed"}'
  for (const type of [
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/problem+json',
    'application/cloudevents+json',
    'application',
    '',
    ';;;',
  ])
    t.match(
      await found(body, { 'content-type': type }),
      { status: 415, body: { code: 'unsupported_media_type' } },
      type,
    )
  t.match(await found(body, {}), { status: 415 }, 'no type')
  for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'gzip, identity'])
    t.match(await found(gzipSync(body), { ...json, 'content-encoding': encoding }), { status: 415 }, encoding)
  t.match(await found(body, { ...json, 'content-encoding': 'identity' }), { status: 201 })
  t.match(await found(body, { 'content-type': 'application/json;charset=UTF-8' }), { status: 201 })
  t.match(await found(body, { 'content-type': 'Application/JSON' }), { status: 201 })
})

t.test('an empty body of any type counts as {}', async (t) => {
  for (const headers of [{}, json, { 'content-type': 'text/plain' }, { 'content-length': '0' }])
    t.match(await found('', headers as Record<string, string>), {
      status: 400,
      body: { code: 'validation_error', name: [String] },
    })
  const inChunks = await found('0\r\n\r\n', { ...json, 'transfer-encoding': 'chunked' })
  t.match(inChunks, { status: 400, body: { code: 'validation_error' } })
  const untyped = await found('0\r\n\r\n', { 'transfer-encoding': 'chunked' })
  t.match(untyped, { status: 400, body: { code: 'validation_error' } }, 'in chunks and without a type')
  t.match(await ada.post('/api/v1/auth/email/verify/send/', '  '), { status: 200 })
})

t.test('a body can have 1 MiB, or 16 KiB on sign-in routes, and is measured while it arrives', async (t) => {
  const sized = (bytes: number) => {
    const body = Buffer.alloc(bytes, ' ')
    body.write('{"name":"sized"}')
    return body
  }
  const mebi = 1024 * 1024
  t.match(await found(sized(mebi)), { status: 201 })
  t.match(await found(sized(mebi + 1)), { status: 413, body: { code: 'payload_too_large' } })
  const transfer = { ...json, 'transfer-encoding': 'chunked' }
  t.match(await found(chunked(sized(mebi)), transfer), { status: 201 })
  t.match(await found(chunked(sized(mebi + 1)), transfer), {
    status: 413,
    body: { code: 'payload_too_large' },
  })
  const login = async (bytes: number) => {
    const padding = ' '.repeat(bytes - 52)
    const body = `{"email":"nobody@example.com","password":"x"${padding}       }`
    return service.call('POST', '/api/v1/auth/login/', { body })
  }
  t.match(await login(16 * 1024), { status: 401 })
  t.match(await login(16 * 1024 + 1), { status: 413, body: { code: 'payload_too_large' } })
})

t.test('after a refusal the connection serves the next request or is closed, and never hangs', async (t) => {
  const big = Buffer.alloc(3 * 1024 * 1024, ' ')
  const next = requestText('GET', '/healthz')
  for (const [what, first] of Object.entries({
    'too long, with its length': requestText('POST', tenants, { ...bearer, ...json }, big),
    'too long, in chunks': requestText(
      'POST',
      tenants,
      { ...bearer, ...json, 'transfer-encoding': 'chunked' },
      chunked(big),
    ),
    'of another type': requestText('POST', tenants, { ...bearer, 'content-type': 'text/plain' }, big),
    'without a token': requestText('POST', tenants, json, big),
    'to nowhere': requestText('POST', '/nowhere', json, big),
    'a GET with a body': requestText('GET', '/healthz', json, big),
  })) {
    const { answers, closed } = await exchange(service.url, [first, next], { expected: 2 })
    t.ok(answers.length === 2 || (answers.length === 1 && closed), `${what}: ${answers.length}, ${closed}`)
  }
})

t.test('a body can have 20,000 values, because more of them would take long to parse', async (t) => {
  const listed = (items: string[]) => `{"name":"many","x":[${items.join()}]}`
  const distinct = (count: number) => Array.from({ length: count }, (_, n) => `{"${n}":[]}`)
  const refused = { status: 413, body: { code: 'payload_too_large', detail: /20000 values/ } }
  t.match(await found(listed(Array(19_996).fill('0'))), { status: 400, body: { errors: [{ field: 'x' }] } })
  t.match(await found(listed(Array(20_000).fill('0'))), refused, 'numbers')
  t.match(await found(listed(Array(500_000).fill('0'))), refused, 'a megabyte of numbers')
  t.match(await found(listed(distinct(7_000))), refused, 'objects')
  t.match(await found(JSON.stringify({ name: ','.repeat(30_000) })), { status: 400 }, 'commas in a text')
})

t.test('the answer to a body with many faults is short and fast', async (t) => {
  const roles = Array.from({ length: 19_000 }, () => 1)
  const ms = await cpuTime(async () => {
    const answer = await ada.post(`/api/v1/tenants/${ada.tenantId}/members/`, { user_id: ada.id, roles })
    t.match(answer, { status: 400, body: { code: 'validation_error' } })
    t.ok(JSON.stringify(answer.body).length < 20_000, `${JSON.stringify(answer.body).length} bytes`)
  })
  t.ok(ms < 4_000, `${ms} ms`)
})
