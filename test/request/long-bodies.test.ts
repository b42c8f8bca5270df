import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { exchange, requestText } from '../helpers/raw-http.ts'
import { type Client, startService } from '../helpers/service.ts'

const service = await startService(t, {
  workers: false,
  env: { LIMIT_BODIES_MIB: '16', RATE_LIMIT_ENABLED: 'true' },
})
const owner = await service.signUp()
const member = await colleague(service, owner)
const all = '/api/v1/resources/'
const mib = 1024 * 1024
const long = { 'content-length': String(4 * mib) }
const chunked = { 'transfer-encoding': 'chunked' }

const headOf = ({ access }: Client, size: Record<string, string>, path = all, method = 'PUT') =>
  requestText(method, path, {
    authorization: `Bearer ${access}`,
    'content-type': 'application/json',
    ...size,
  })

/** Sends only the head of a request, and gives the answer, if one comes. */
const begin = async (client: Client, size: Record<string, string> = long) => {
  const { answers } = await exchange(service.url, [headOf(client, size)], { ms: 1_000 })
  const [answer] = answers
  return answer && { ...answer, body: JSON.parse(answer.body) }
}

/** Holds a request open whose body does not come. */
async function hold(client: Client, size: Record<string, string> = long) {
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(headOf(client, size))
  return () => socket.destroy()
}

async function until(holds: () => boolean): Promise<void> {
  for (let time = 0; time < 100; time++) {
    if (holds()) return
    await sleep(20)
  }
  throw new Error('it does not become true')
}

function isFull({ tenantId }: Client): boolean {
  try {
    service.deps.holdBytes(tenantId, 1).shrinkTo(0)
    return false
  } catch {
    return true
  }
}

const put = (client: Client, size: number) =>
  client.put(all, { resources: [{ type: 'doc', id: '1', attributes: { text: 'x'.repeat(size) } }] })

t.test('a long body is not read of a caller who may not use the route', async (t) => {
  for (const size of [long, chunked])
    t.match(await begin(member, size), { status: 403, body: { code: 'permission_denied' } })
  const ended = await service.signUp()
  await ended.post('/api/v1/auth/logout/', {})
  t.match(await begin(ended), { status: 401 })
  t.match(await begin({ ...member, access: 'x' } as Client), { status: 401 })
})

t.test('a permitted call with a long body counts once', async (t) => {
  const left = async (size: number) => {
    const { headers } = await put(owner, size)
    return Number(/"user";r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])
  }
  const first = await left(1)
  t.equal(await left(100_000), first - 1)
  t.equal(await left(1), first - 2)
})

t.test('a tenant fills a quarter of the bytes for long bodies; short ones and others go on', async (t) => {
  const end = await hold(owner)
  t.teardown(end)
  await until(() => isFull(owner))
  const refused = await put(owner, 100_000)
  t.match(refused, { status: 503, body: { code: 'overloaded' } })
  t.equal(refused.headers.get('retry-after'), '1')
  t.not((await put(owner, 1)).status, 503, 'a short body')
  const other = await service.signUp()
  t.not((await put(other, 100_000)).status, 503, 'another tenant')
  end()
  await until(() => !isFull(owner))
  t.not((await put(owner, 100_000)).status, 503)
})

t.test('the bytes of a body are given back when it is answered', async (t) => {
  for (let time = 0; time < 6; time++) t.not((await put(owner, 900_000)).status, 503)
})
