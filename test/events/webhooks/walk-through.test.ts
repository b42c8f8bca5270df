import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { type Client, startService } from '../../helpers/service.ts'
import { expect, look } from '../../tenancy/staff.ts'

// From the request that creates a webhook to what its receiver gets, through all real parts.

const service = await startService(t, { actors: [], env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
const all = '/api/v1/webhooks/'

/** A receiver that answers with `status`, and the requests it received. */
const received: { headers: IncomingHttpHeaders; text: string }[] = []
let status = 204
const receiver = createServer(async (request, response) => {
  let text = ''
  for await (const part of request) text += part
  received.push({ headers: request.headers, text })
  response.writeHead(status).end()
}).listen(0, '127.0.0.1')
await once(receiver, 'listening')
t.teardown(() => receiver.close())
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/events`

/** Resolves once `holds`; throws after five minutes. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 6_000; tries++, await sleep(50)) if (await holds()) return
  throw new Error('The condition did not become true in time')
}
const found = (owner: Client, name: string) =>
  expect(201, owner.post(`/api/v1/tenants/${owner.tenantId}/departments/`, { name }))
/** Resolves once every event was fanned out, so its deliveries exist. */
const handedOn = () =>
  until(async () => (await look(service, "select from outbox where queue = 'event-fanout'")).length === 0)
const deliveries = async (owner: Client, id: string, query = '') =>
  (await expect(200, owner.get(`${all}${id}/deliveries/?page_size=100&${query}`))).results
const owner = await service.signUp()
await handedOn()
const made = await expect(201, owner.post(all, { url, event_types: ['tenant.*'] }))
const one = `${all}${made.id}/`
const verify = (secret: string, { headers, text }: (typeof received)[number]) => {
  // The service's clock stands still, but the library reads the machine's.
  const at = Number(headers['webhook-timestamp'])
  const id = String(headers['webhook-id'])
  const signature = new Webhook(secret).sign(id, new Date(at * 1_000), text)
  return String(headers['webhook-signature']).split(' ').includes(signature)
}

t.test('events are posted as they are in the feed, in order and signed', async (t) => {
  for (let n = 0; n < 10; n++) await found(owner, `Department ${n}`)
  await until(() => received.length >= 10)
  const { results } = await expect(200, owner.get('/api/v1/events/?page_size=100'))
  const wanted = results.filter(({ type }: { type: string }) => type === 'tenant.department_created')
  t.strictSame(
    received.map(({ text }) => JSON.parse(text)),
    wanted,
  )
  for (const one of received) {
    t.ok(verify(made.secret, one))
    t.match(one.headers, { 'content-type': 'application/cloudevents+json', 'user-agent': /^Bailiwick\// })
    t.equal(one.headers['webhook-id'], JSON.parse(one.text).id)
  }
  await until(async () => (await deliveries(owner, made.id, 'status=succeeded')).length === 10)
  t.match((await deliveries(owner, made.id))[0], {
    event_id: wanted.at(-1).id,
    event_type: 'tenant.department_created',
    attempt: 1,
    response_status: 204,
    next_attempt_at: null,
  })
  t.match((await expect(200, owner.get(one))).last_success_at, /Z$/)
})

t.test('the new and the previous secret both sign, and a test and a replay are sent at once', async (t) => {
  const { secret } = await expect(200, owner.post(`${one}rotate-secret/`))
  received.length = 0
  const { delivery_id: tested } = await expect(200, owner.post(`${one}test/`))
  await until(() => received.length === 1)
  const [ping] = received
  t.ok(verify(secret, ping!) && verify(made.secret, ping!))
  t.match(JSON.parse(ping!.text), {
    type: 'events.webhook_tested',
    sequence: null,
    tenantid: owner.tenantId,
    data: { webhook_id: made.id },
  })
  await until(
    async () =>
      (await deliveries(owner, made.id)).find(({ id }: { id: string }) => id === tested).status ===
      'succeeded',
  )
  const [oldest] = (await deliveries(owner, made.id, 'event_type=tenant.department_created')).reverse()
  await expect(200, owner.post(`${one}deliveries/${oldest.id}/replay/`))
  await until(() => received.length === 2)
  t.equal(received[1]!.headers['webhook-id'], oldest.event_id)
  service.advance(24 * 3_600_000 + 1_000)
  const again = await service.logIn(owner)
  await expect(200, again.post(`${one}test/`))
  await until(() => received.length === 3)
  t.ok(verify(secret, received[2]!))
  t.notOk(verify(made.secret, received[2]!), 'after 24 hours the old one no longer signs')
})

t.test(
  'a webhook that answers 410 is disabled, and continues in order once it is activated again',
  async (t) => {
    const again = await service.logIn(owner)
    received.length = 0
    status = 410
    await found(again, 'Lost')
    await until(async () => (await expect(200, again.get(one))).disabled_reason === 'gone')
    await expect(409, again.post(`${one}deliveries/${(await deliveries(again, made.id))[0].id}/replay/`))
    await found(again, 'In the feed alone')
    await handedOn()
    status = 204
    await expect(200, again.patch(one, { is_active: true }))
    await found(again, 'Back')
    await until(() => received.length === 2)
    t.same((await deliveries(again, made.id, 'status=dead')).length, 1)
  },
)

t.test(
  'a delayed delivery is tried at once when its webhook is activated again, and the waiting ones follow in order',
  async (t) => {
    const again = await service.logIn(owner)
    received.length = 0
    status = 500
    const names = ['a', 'b', 'c']
    for (const name of names) await found(again, name)
    await until(async () => (await deliveries(again, made.id, 'status=failed')).length === 1)
    status = 204
    const tries = received.length
    await expect(200, again.patch(one, { is_active: true }))
    await until(() => received.length === tries + 3)
    const sequences = received.slice(tries).map(({ text }) => JSON.parse(text).sequence)
    t.same(
      sequences,
      [...sequences].sort((a, b) => a - b),
    )
    t.same(new Set(sequences).size, 3)
  },
)

t.test('a deleted webhook gets nothing more', async (t) => {
  const again = await service.logIn(owner)
  status = 500
  await found(again, 'Waits')
  await until(async () => (await deliveries(again, made.id, 'status=failed')).length === 1)
  await expect(204, again.delete(one))
  status = 204
  received.length = 0
  await found(again, 'After')
  await handedOn()
  service.advance(60_000)
  const other = await expect(201, again.post(all, { url, event_types: ['tenant.department_created'] }))
  await found(again, 'Proof')
  await until(() => received.length === 1)
  t.ok(verify(other.secret, received[0]!))
})
