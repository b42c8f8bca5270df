import { exchange, requestText } from '../helpers/raw-http.ts'
import type { Client, Service } from '../helpers/service.ts'
import type { Tally } from './attack.ts'

const crlf = '\r\n'
/** Connections at a time: many wait for bytes that never come. */
const lanes = 20
const me = '/api/v1/users/me/'
const login = '/api/v1/auth/login/'

/**
 * Sends `count` broken requests on connections of their own. Each must be refused or closed; a second request that was
 * hidden in the first one must not be answered with the caller's data.
 */
export async function brokenBytes(
  tally: Tally,
  service: Service,
  { access, email }: Client,
  count: number,
): Promise<void> {
  const bearer = `Authorization: Bearer ${access}${crlf}`
  const hidden = `GET ${me} HTTP/1.1${crlf}Host: x${crlf}${bearer}${crlf}`
  const shapes = [...fixed(bearer, hidden), ...Object.entries(smuggled(hidden))]
  let random = 20_261_121
  const next = (below: number) => {
    random = (random * 1_103_515_245 + 12_345) % 2 ** 31
    return random % below
  }
  const send = async (n: number) => {
    const [what, bytes] = shapes[n % shapes.length]!
    const sent = n < shapes.length ? bytes : damage(bytes, next)
    const { answers } = await exchange(service.url, [sent], { ms: 250 })
    const fault = answers.find(({ status, body }) => status >= 500 || body.includes(email))
    if (fault && fault.status >= 500) tally.serverErrors++
    tally.count(`${what}, number ${n}`, fault ? `${fault.status} ${fault.body.slice(0, 200)}` : null)
  }
  for (let n = 0; n < count; n += lanes)
    await Promise.all(Array.from({ length: Math.min(lanes, count - n) }, (_, lane) => send(n + lane)))
}

/** Changes, removes, repeats or inserts bytes at a few places. A damaged token is no token of ours. */
function damage(bytes: Buffer, next: (below: number) => number): Buffer {
  const copy = Buffer.from(bytes.toString('latin1').replace(/Bearer ./g, 'Bearer x'), 'latin1')
  for (let times = 1 + next(6); times > 0; times--) copy[next(copy.length)] = next(256)
  return next(3) === 0 ? copy.subarray(0, next(copy.length) + 1) : copy
}

function fixed(bearer: string, hidden: string): [string, Buffer][] {
  const raw = (text: string) => Buffer.from(text, 'latin1')
  const post = (headers: Record<string, string>, body: string | Buffer = '') =>
    requestText('POST', login, { 'content-type': 'application/json', ...headers }, body)
  return [
    ['no request', raw('\0\0\0\0\r\n\r\n')],
    ['TLS to a plain port', Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])],
    ['an unknown version', raw(`GET ${me} HTTP/3.7${crlf}Host: x${crlf}${crlf}`)],
    ['no host', raw(`GET ${me} HTTP/1.1${crlf}${crlf}`)],
    ['two hosts', raw(`GET ${me} HTTP/1.1${crlf}Host: a${crlf}Host: b${crlf}${crlf}`)],
    ['a line feed alone', raw(`GET ${me} HTTP/1.1\nHost: x\n\n`)],
    ['a space before the colon', raw(`GET /healthz HTTP/1.1${crlf}Host : x${crlf}${crlf}`)],
    ['a folded header', raw(`GET ${me} HTTP/1.1${crlf}Host: x${crlf} y: z${crlf}${crlf}`)],
    ['NUL in a header', raw(`GET ${me} HTTP/1.1${crlf}Host: x\0${crlf}${crlf}`)],
    ['NUL in a path', raw(`GET /api/v1/\0 HTTP/1.1${crlf}Host: x${crlf}${crlf}`)],
    ['an encoded NUL', requestText('GET', '/api/v1/users/%00/')],
    ['an absolute target', requestText('GET', 'http://127.0.0.1:1/api/v1/users/me/')],
    ['a target that is a star', requestText('OPTIONS', '*')],
    ['CONNECT', requestText('CONNECT', '127.0.0.1:1')],
    ['a path of dots', requestText('GET', '/api/v1/../../../../etc/passwd')],
    ['encoded dots', requestText('GET', '/docs/%2e%2e%2f%2e%2e%2fpackage.json')],
    ['a half escape', requestText('GET', '/api/v1/users/%E0%A4%A/')],
    ['overlong UTF-8', requestText('GET', '/api/v1/users/%C0%AF/')],
    ['a path of 60 KB', requestText('GET', `/api/v1/${'x'.repeat(60_000)}/`)],
    ['a header of 60 KB', requestText('GET', me, { 'x-long': 'x'.repeat(60_000) })],
    [
      '2,000 headers',
      requestText('GET', me, Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`x-${n}`, '1']))),
    ],
    [
      'two authorizations',
      raw(
        `GET ${me} HTTP/1.1${crlf}Host: x${crlf}Authorization: Basic eA==${crlf}${bearer.replace('Bearer ', 'Bearer x')}${crlf}`,
      ),
    ],
    ['a length that is no number', post({ 'content-length': 'ten' }, '{}')],
    ['a negative length', post({ 'content-length': '-1' }, '{}')],
    ['a length with a sign', post({ 'content-length': '+2' }, '{}')],
    ['a huge length', post({ 'content-length': '99999999999999999999' }, '{}')],
    ['a body that is cut off', post({ 'content-length': '500' }, '{"email":')],
    ['invalid UTF-8', post({}, Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d]))],
    ['UTF-16', post({}, Buffer.from('{"email":"a"}', 'utf16le'))],
    ['a byte order mark', post({}, Buffer.from('\ufeff{}'))],
    ['deep nesting', post({}, '['.repeat(8_000))],
    ['deep objects', post({}, '{"a":'.repeat(3_000))],
    ['duplicate keys', post({}, '{"email":"a","email":{"b":1}}')],
    ['a number without end', post({}, `{"email":${'9'.repeat(15_000)}}`)],
    ['compressed', post({ 'content-encoding': 'gzip' }, Buffer.from([31, 139, 8, 0]))],
    ['an unknown expectation', post({ expect: '200-maybe' }, '{}')],
    ['an upgrade', requestText('GET', me, { connection: 'upgrade', upgrade: 'websocket' })],
    [
      'h2c',
      requestText('GET', me, {
        connection: 'upgrade, http2-settings',
        upgrade: 'h2c',
        'http2-settings': 'AAMAAABk',
      }),
    ],
    ['HTTP/2 without asking', raw('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
    ['ranges', requestText('GET', '/openapi.json', { range: 'bytes=0-,0-,0-,0-' })],
    ['a forged request id', requestText('GET', me, { 'x-request-id': '../../<script>' })],
    [
      'an unclosed chunk',
      raw(
        `POST ${login} HTTP/1.1${crlf}Host: x${crlf}Transfer-Encoding: chunked${crlf}${crlf}FFFFFFFFFF${crlf}{}`,
      ),
    ],
    [
      'a chunk that hides a request',
      raw(
        `POST ${login} HTTP/1.1${crlf}Host: x${crlf}Transfer-Encoding: chunked${crlf}${crlf}zz${crlf}${hidden}`,
      ),
    ],
  ]
}

/** A proxy and the service could disagree on where the first request ends: the hidden one must not be answered. */
function smuggled(hidden: string): Record<string, Buffer> {
  const { length } = hidden
  const start = `POST /healthz HTTP/1.1${crlf}Host: x${crlf}`
  const both = (transfer: string, size: number) =>
    Buffer.from(
      `${start}Content-Length: ${size}${crlf}Transfer-Encoding: ${transfer}${crlf}${crlf}0${crlf}${crlf}${hidden}`,
    )
  return {
    'length and chunks': both('chunked', 5 + length),
    'chunks in capitals': both('Chunked', 5 + length),
    'chunks after another coding': both('gzip, chunked', 5 + length),
    'chunks before another coding': both('chunked, identity', 5 + length),
    'chunks with a tab': both('\tchunked', 5 + length),
    'chunks with a vertical tab': both('\vchunked', 5 + length),
    'two lengths': Buffer.from(
      `${start}Content-Length: 0${crlf}Content-Length: ${length}${crlf}${crlf}${hidden}`,
    ),
    'lengths in one header': Buffer.from(`${start}Content-Length: 0, ${length}${crlf}${crlf}${hidden}`),
  }
}
