import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import net from 'node:net'
import t, { type Test } from 'tap'
import { openPoster, type PosterOptions } from '../../../src/events/webhooks/post-event.ts'
import type { Resolve } from '../../../src/events/webhooks/public-address.ts'
import { certificate, key } from './receiver-certificate.ts'

const publicOnly = { allowPrivate: false, allowedHosts: [] as string[] }
const portOf = (server: net.Server) => (server.address() as net.AddressInfo).port

async function listen<S extends net.Server>(t: Test, server: S): Promise<S> {
  const sockets = new Set<net.Socket>()
  server.on('connection', (socket) => sockets.add(socket.on('error', () => undefined)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return server
}

const serve = async (t: Test, answer: RequestListener) =>
  `http://127.0.0.1:${portOf(await listen(t, createServer(answer)))}/`

/** A server without HTTP; `answer` gets each connection once the client has sent something. */
const serveRaw = async (t: Test, answer: (socket: net.Socket, nth: number) => void) => {
  let nth = 0
  const server = net.createServer((socket) => {
    const mine = ++nth
    socket.on('data', () => answer(socket, mine))
  })
  return `http://127.0.0.1:${portOf(await listen(t, server))}/`
}

function poster(t: Test, options: Partial<PosterOptions> = {}) {
  const opened = openPoster({
    rules: { ...publicOnly, allowPrivate: true },
    limit: 60_000,
    clock: () => 1_000_000,
    ...options,
  })
  t.teardown(() => opened.close())
  return (url: string, body = '{}') => opened.post(url, { 'content-type': 'text/plain' }, body)
}

/** A resolver that answers each lookup with the next of `answers`. */
function resolver(...answers: string[][]) {
  const asked: string[] = []
  const resolve: Resolve = (host, _options, done) => {
    const addresses = answers[Math.min(asked.push(host), answers.length) - 1] ?? []
    setImmediate(
      done,
      null,
      addresses.map((address) => ({ address, family: net.isIP(address) })),
    )
  }
  return { asked, resolve }
}

t.test('every answer is reported with its status', async (t) => {
  const url = await serve(t, (request, response) => {
    response.writeHead(Number(request.url!.slice(1)), { 'retry-after': '7' }).end('thanks')
  })
  const post = poster(t)
  for (const status of [200, 204, 299, 301, 400, 410, 429, 500, 503])
    t.match(await post(url + status), { status, reason: null, retryAfter: 7_000 })
})

t.test('a receiver can request a wait in seconds or until a date', async (t) => {
  const asked = ['120', new Date(1_060_000).toUTCString(), new Date(0).toUTCString(), 'soon', '-5', '1e9']
  const url = await serve(t, (_request, response) =>
    response.writeHead(503, { 'retry-after': asked.shift()! }).end(),
  )
  const post = poster(t)
  for (const wait of [120_000, 60_000, 0, null]) t.equal((await post(url)).retryAfter, wait)
})

t.test(
  'a receiver that never answers, sends headers slowly, or is silent after connecting, ends at the time limit',
  async (t) => {
    const dripping = await serveRaw(t, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const timer = setInterval(() => socket.write('x-more: y\r\n'), 20)
      socket.on('close', () => clearInterval(timer))
    })
    const hinting = await serveRaw(t, (socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 100)
      socket.on('close', () => clearInterval(timer))
    })
    for (const url of [
      await serve(t, () => undefined),
      await serveRaw(t, () => undefined),
      dripping,
      hinting,
    ]) {
      const answer = await poster(t, { limit: 400 })(url)
      t.match(answer, { status: null, reason: 'timeout' })
      t.ok(answer.duration >= 399 && answer.duration < 50_000, `${answer.duration} ms`)
    }
  },
)

t.test('an endless answer is cut off after 64 KiB, and its status counts', async (t) => {
  let written = 0
  const part = Buffer.alloc(16 * 1024, 'x')
  const url = await serve(t, (_request, response) => {
    response.writeHead(200)
    const more = () => {
      while (!response.destroyed && response.write(part)) written += part.length
    }
    response.on('drain', more)
    more()
  })
  const answer = await poster(t, {})(url)
  t.match(answer, { status: 200, reason: null })
  t.ok(answer.duration < 50_000, `${answer.duration} ms`)
  t.ok(written < 16 * 1024 * 1024, `${written} bytes were written`)
})

t.test('an answer with an endless slow body ends at the time limit, and its status counts', async (t) => {
  const url = await serve(t, (_request, response) => {
    const timer = setInterval(() => response.write('x'), 20)
    response.on('close', () => clearInterval(timer))
  })
  t.match(await poster(t, { limit: 400 })(url), { status: 200, reason: null })
})

t.test('a redirect is an answer and is not followed', async (t) => {
  let arrived = 0
  const other = await serve(t, (_request, response) => {
    arrived++
    response.end()
  })
  const post = poster(t)
  for (const status of [301, 302, 303, 307, 308]) {
    const url = await serve(t, (_request, response) => response.writeHead(status, { location: other }).end())
    t.match(await post(url), { status, reason: null })
  }
  t.equal(arrived, 0)
})

t.test('unreachable hosts, unknown hosts and other protocols have different reasons', async (t) => {
  const closed = await listen(t, net.createServer())
  const gone = `http://127.0.0.1:${portOf(closed)}/`
  closed.close()
  await once(closed, 'close')
  t.match(await poster(t)(gone), { status: null, reason: 'connection' })
  const garbage = await serveRaw(t, (socket) => socket.end('220 mail.example.test ESMTP\r\n'))
  t.match(await poster(t)(garbage), { status: null, reason: 'bad_answer' })
  const flood = await serveRaw(t, (socket) =>
    socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`),
  )
  t.match(await poster(t)(flood), { status: null, reason: 'bad_answer' })
  const hints = await serveRaw(t, (socket) => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000)))
  t.match(await poster(t)(hints), { status: null, reason: 'bad_answer' })
  const hangsUp = await serveRaw(t, (socket) => socket.destroy())
  t.match(await poster(t)(hangsUp), { status: null, reason: 'connection' })
  const switches = await serveRaw(t, (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  )
  t.match(await poster(t)(switches), { status: null, reason: 'connection' })
  const unknown: Resolve = (_host, _options, done) =>
    done(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), [])
  t.match(await poster(t, { resolve: unknown })('http://nowhere.test/'), { status: null, reason: 'dns' })
  const silent: Resolve = () => undefined
  t.match(await poster(t, { resolve: silent, limit: 400 })('http://nowhere.test/'), {
    status: null,
    reason: 'timeout',
  })
})

t.test('a certificate must be trusted and match the host', async (t) => {
  let arrived = 0
  const server = await listen(
    t,
    createSecureServer({ cert: certificate, key }, (_request, response) => {
      arrived++
      response.end()
    }),
  )
  const { resolve } = resolver(['127.0.0.1'])
  const url = `https://receiver.test:${portOf(server)}/`
  t.match(await poster(t, { resolve })(url), { status: null, reason: 'tls' })
  t.match(await poster(t, { resolve, ca: certificate })(`https://other.test:${portOf(server)}/`), {
    reason: 'tls',
  })
  t.equal(arrived, 0)
  t.match(await poster(t, { resolve, ca: certificate })(url), { status: 200, reason: null })
  const plain = new URL(await serve(t, (_request, response) => response.end()))
  t.match(await poster(t, { resolve })(`https://receiver.test:${plain.port}/`), { reason: 'tls' })
})

t.test('private hosts are never connected to, by address or by name', async (t) => {
  let connections = 0
  const server = await listen(
    t,
    net.createServer(() => connections++),
  )
  const port = portOf(server)
  for (const host of ['127.0.0.1', '127.1', '[::1]', 'localhost', 'a.internal', '169.254.169.254']) {
    const answer = await poster(t, { rules: publicOnly })(`https://${host}:${port}/`)
    t.match(answer, { status: null, reason: 'private_address' }, host)
  }
  t.match(await poster(t, { rules: publicOnly })(`http://127.0.0.1:${port}/`), {
    reason: 'private_address',
  })
  const elsewhere = { ...publicOnly, allowedHosts: ['example.com'] }
  t.match(await poster(t, { rules: elsewhere })(`https://inside.test:${port}/`), {
    status: null,
    reason: 'host_not_allowed',
  })
  for (const addresses of [
    ['127.0.0.1'],
    ['::1'],
    ['10.0.0.1'],
    ['2d00::1', '127.0.0.1'],
    ['::ffff:127.0.0.1'],
  ]) {
    const { resolve, asked } = resolver(addresses)
    const answer = await poster(t, { rules: publicOnly, resolve })(`https://inside.test:${port}/`)
    t.match(answer, { status: null, reason: 'private_address' }, addresses.join())
    t.same(asked, ['inside.test'])
  }
  t.equal(connections, 0)
})

t.test('a name that is public first and private later is refused', async (t) => {
  let connections = 0
  const server = await listen(
    t,
    net.createServer(() => connections++),
  )
  // A global IPv6 address in an unassigned block: it cannot be reached.
  const { resolve, asked } = resolver(['2d00::1'], ['127.0.0.1'])
  const post = poster(t, { rules: publicOnly, resolve, limit: 400 })
  const url = `https://rebound.test:${portOf(server)}/`
  t.match(await post(url), { status: null, reason: /^(connection|timeout)$/ }, 'it is public, so it is tried')
  t.equal(asked.length, 1, 'the connection uses the checked address, without a second lookup')
  t.match(await post(url), { status: null, reason: 'private_address' })
  t.equal(asked.length, 2)
  t.equal(connections, 0)
})

t.test('connections are kept, and one that the server closed is not a failure', async (t) => {
  const seen: number[] = []
  const url = await serveRaw(t, (socket, nth) => {
    seen.push(nth)
    if (seen.length === 3) socket.destroy()
    else socket.write('HTTP/1.1 204 No Content\r\nconnection: keep-alive\r\n\r\n')
  })
  const post = poster(t)
  for (let n = 0; n < 3; n++) t.match(await post(url), { status: 204, reason: null })
  t.same(seen, [1, 1, 1, 2])
})
