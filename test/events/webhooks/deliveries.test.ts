import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { Client } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { expect, look } from '../../tenancy/staff.ts'

const service = await sharedService(t, { workers: false })
const all = '/api/v1/webhooks/'
const url = 'https://receiver.example/events'
const moment = () => new Date(service.now()).toISOString()

const webhookOf = async (owner: Client): Promise<string> => (await expect(201, owner.post(all, { url }))).id
const messagesOf = (tenantId: string) =>
  look(
    service,
    `select queue, payload from outbox where tenant_id = '${tenantId}' and queue like 'webhook%' order by id`,
  )
const audited = async (owner: Client, action: string) =>
  (await expect(200, owner.get(`/api/v1/audit-log/?action=${action}`))).results
const deliver = (id: string, status: string) =>
  look(
    service,
    `update webhook_deliveries set status = '${status}', attempt = 1, response_status = 204, duration_ms = 12,
       next_attempt_at = ${status === 'failed' ? 'retry_until' : 'null'}, ended_at = ${status === 'failed' ? 'null' : 'created_at'}
     where id = '${id}'`,
  )

t.test('a test creates a delivery without an event, and a message for it', async (t) => {
  const owner = await service.signUp()
  const id = await webhookOf(owner)
  const { delivery_id: did } = await expect(200, owner.post(`${all}${id}/test/`))
  const { results, ...page } = await expect(200, owner.get(`${all}${id}/deliveries/`))
  t.strictSame(page, { next: null, previous: null }, 'deliveries are not counted')
  t.strictSame(results, [
    {
      id: did,
      event_id: results[0].event_id,
      event_type: 'events.webhook_tested',
      attempt: 0,
      status: 'pending',
      response_status: null,
      duration_ms: null,
      error: null,
      next_attempt_at: moment(),
      created_at: moment(),
    },
  ])
  t.match(await messagesOf(owner.tenantId), [
    { queue: 'webhook-once', payload: { v: 1, webhook_id: id, delivery_id: did } },
  ])
  const [row] = await look(service, `select sequence, in_order from webhook_deliveries where id = '${did}'`)
  t.same(row, { sequence: null, in_order: false })
  t.match(await audited(owner, 'webhook:test'), [{ target: { type: 'webhook', id } }])
  await expect(200, owner.patch(`${all}${id}/`, { is_active: false }))
  await expect(200, owner.post(`${all}${id}/test/`))
})

t.test('at most 20 tests and replays of a webhook wait, also after concurrent requests', async (t) => {
  const owner = await service.signUp()
  const [id, other] = [await webhookOf(owner), await webhookOf(owner)]
  const asked = await Promise.all(Array.from({ length: 25 }, () => owner.post(`${all}${id}/test/`)))
  const [first] = asked.filter(({ status }) => status === 200)
  const refused = asked.filter(({ status }) => status === 409)
  t.equal(refused.length, 5)
  for (const answer of refused) t.match(answer.body, { code: 'limit_reached' })
  t.equal((await messagesOf(owner.tenantId)).length, 20)
  await deliver(first?.body.delivery_id, 'succeeded')
  await expect(200, owner.post(`${all}${id}/test/`))
  const replay = `${all}${id}/deliveries/${first?.body.delivery_id}/replay/`
  t.match(await owner.post(replay), { status: 409, body: { code: 'limit_reached' } })
  await expect(200, owner.post(`${all}${other}/test/`))
})

t.test('a replay reopens an ended delivery, once', async (t) => {
  const owner = await service.signUp()
  const id = await webhookOf(owner)
  const { delivery_id: did } = await expect(200, owner.post(`${all}${id}/test/`))
  const replay = () => owner.post(`${all}${id}/deliveries/${did}/replay/`)
  t.match(await replay(), { status: 409, body: { code: 'invalid_state', current_state: 'pending' } })
  await deliver(did, 'failed')
  t.match(await replay(), { status: 409, body: { code: 'invalid_state', current_state: 'failed' } })
  await look(service, `delete from outbox where tenant_id = '${owner.tenantId}'`)
  for (const ended of ['succeeded', 'dead']) {
    await deliver(did, ended)
    const answers = await Promise.all(Array.from({ length: 6 }, replay))
    const [done, ...refused] = answers.sort((a, b) => a.status - b.status)
    t.match(done, { status: 200, body: { delivery_id: did } })
    for (const answer of refused) t.match(answer, { status: 409, body: { current_state: 'pending' } })
  }
  t.equal((await messagesOf(owner.tenantId)).length, 2)
  t.equal((await audited(owner, 'webhook:replay')).length, 2)
  const { results } = await expect(200, owner.get(`${all}${id}/deliveries/`))
  t.match(results, [{ id: did, status: 'pending', attempt: 1, next_attempt_at: moment() }])
})

t.test('an inactive or disabled webhook gets no replay', async (t) => {
  const owner = await service.signUp()
  const id = await webhookOf(owner)
  const { delivery_id: did } = await expect(200, owner.post(`${all}${id}/test/`))
  await deliver(did, 'dead')
  const replay = () => owner.post(`${all}${id}/deliveries/${did}/replay/`)
  await expect(200, owner.patch(`${all}${id}/`, { is_active: false }))
  t.match(await replay(), { status: 409, body: { code: 'invalid_state', current_state: 'inactive' } })
  await look(service, `update webhooks set is_active = true, disabled_reason = 'failing' where id = '${id}'`)
  t.match(await replay(), { status: 409, body: { code: 'invalid_state', current_state: 'disabled' } })
  await expect(200, owner.put(`${all}${id}/`, { is_active: true }))
  await expect(200, replay())
  await deliver(did, 'dead')
  await look(service, `update webhook_deliveries set sequence = 7 where id = '${did}'`)
  t.match(
    await replay(),
    { status: 410, body: { code: 'gone' } },
    'an event that is no longer kept cannot be replayed',
  )
  t.equal((await owner.post(`${all}${id}/deliveries/${randomUUID()}/replay/`)).status, 404)
  t.equal((await owner.post(`${all}${await webhookOf(owner)}/deliveries/${did}/replay/`)).status, 404)
})

t.test('deliveries are listed newest first, in pages, by status and type', async (t) => {
  const owner = await service.signUp()
  const id = await webhookOf(owner)
  const made: string[] = []
  for (let n = 0; n < 7; n++) {
    made.unshift((await expect(200, owner.post(`${all}${id}/test/`))).delivery_id)
    if (n % 2) service.advance(1_000)
  }
  await deliver(made[2]!, 'dead')
  await look(
    service,
    `update webhook_deliveries set error = 'refused', response_status = null where id = '${made[2]}'`,
  )
  await deliver(made[4]!, 'succeeded')
  await look(service, `update webhook_deliveries set event_type = 'app.order_paid' where id = '${made[4]}'`)
  const path = `${all}${id}/deliveries/`
  const met: string[] = []
  for (let next: string | null = `${path}?page_size=3`; next; ) {
    const { body }: { body: { next: string | null; results: { id: string }[] } } = await owner.get(next)
    met.push(...body.results.map(({ id }) => id))
    next = body.next
  }
  t.same(met, made)
  const ids = async (query: string) =>
    (await expect(200, owner.get(`${path}?${query}`))).results.map(({ id }: { id: string }) => id)
  t.same(await ids('status=dead'), [made[2]])
  t.same(await ids('event_type=app.order_paid'), [made[4]])
  t.same(await ids('event_type=app.order_paid&status=dead'), [])
  t.same(await ids(`created_at__gte=${new Date(service.now() + 1).toISOString()}`), [])
  const { results } = await expect(200, owner.get(`${path}?status=dead`))
  t.match(results, [{ error: 'refused', response_status: null, next_attempt_at: null }])
  for (const wrong of [
    'status=lost',
    'status=',
    'event_type=',
    `event_type=${'x'.repeat(1_000)}`,
    'cursor=x',
  ])
    t.match(await owner.get(`${path}?${wrong}`), {
      status: 400,
      body: { errors: [{ field: wrong.split('=')[0] }] },
    })
  const cursor = new URL((await owner.get(`${path}?page_size=1`)).body.next).searchParams.get('cursor')
  const other = `${all}${await webhookOf(owner)}/deliveries/?cursor=${cursor}`
  t.equal((await owner.get(other)).status, 400, 'a cursor of another list is refused')
})
