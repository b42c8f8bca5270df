import t from 'tap'
import { startService } from '../../helpers/service.ts'
import { expect, look } from '../../tenancy/staff.ts'

const all = '/api/v1/webhooks/'
const url = 'https://receiver.example/events'
const full = { status: 409, body: { code: 'limit_reached' } }

t.test('a tenant has at most 20 webhooks, also after concurrent requests', async (t) => {
  const service = await startService(t, { workers: false })
  const owner = await service.signUp()
  for (let n = 0; n < 17; n++) await expect(201, owner.post(all, { url }))
  const answers = await Promise.all(Array.from({ length: 12 }, () => owner.post(all, { url })))
  t.equal(answers.filter(({ status }) => status === 201).length, 3)
  for (const answer of answers.filter(({ status }) => status !== 201)) t.match(answer, full)
  const { count, results } = await expect(200, owner.get(`${all}?page_size=100`))
  t.strictSame([count, results.length], [20, 20])
  const [row] = await look(
    service,
    `select count(*)::int as n from webhooks where tenant_id = '${owner.tenantId}'`,
  )
  t.equal(row.n, 20)
  t.equal(
    (await expect(200, owner.get('/api/v1/audit-log/?action=webhook:create&page_size=100'))).results.length,
    20,
  )
  await expect(204, owner.delete(`${all}${results[0].id}/`))
  await expect(201, owner.post(all, { url }))
  t.match(await owner.post(all, { url }), full)
  await expect(201, (await service.signUp()).post(all, { url }))
})

t.test('a test counts as a delivery of the day', async (t) => {
  const service = await startService(t, { workers: false, env: { LIMIT_DELIVERIES_PER_DAY: '2' } })
  const owner = await service.signUp()
  const { id } = await expect(201, owner.post(all, { url }))
  for (let n = 0; n < 2; n++) await expect(200, owner.post(`${all}${id}/test/`))
  t.match(await owner.post(`${all}${id}/test/`), full)
  service.advance(86_400_000)
  await expect(200, (await service.logIn(owner)).post(`${all}${id}/test/`))
})

t.test('LIMIT_WEBHOOKS sets the limit', async (t) => {
  const service = await startService(t, { workers: false, env: { LIMIT_WEBHOOKS: '0' } })
  t.match(await (await service.signUp()).post(all, { url }), full)
})
