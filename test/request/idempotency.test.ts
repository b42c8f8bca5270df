import pg from 'pg'
import t from 'tap'
import { sweep } from '../../workers/otp-expiry.ts'
import { colleague } from '../helpers/colleague.ts'
import { rounds } from '../helpers/rounds.ts'
import { type Client, startService } from '../helpers/service.ts'

const service = await startService(t)
const superuser = new pg.Client({ connectionString: service.databases.superuser })
await superuser.connect()
t.teardown(() => superuser.end())

const ada = await service.signUp()
const tenant = `/api/v1/tenants/${ada.tenantId}`
const roles = `${tenant}/roles/`
let keys = 0
const newKey = () => `key-${++keys}`
const send = (as: Client, path: string, body: unknown, key: string) =>
  as.post(path, body, { headers: { 'idempotency-key': key } })
const replayed = 'idempotency-replayed'

t.test('a repeated call gets the answer of the first, and creates nothing', async (t) => {
  const key = newKey()
  const first = await send(ada, roles, { name: 'Weaver' }, key)
  t.match(first, { status: 201, body: { name: 'Weaver' } })
  t.equal(first.headers.get(replayed), null)
  const second = await send(ada, roles, { name: 'Weaver' }, key)
  t.strictSame(second.body, first.body)
  t.equal(second.headers.get(replayed), 'true')
  t.match(await send(ada, roles, { name: 'Weaver' }, newKey()), { status: 409 }, 'another key: another call')

  for (const body of [{ name: 'Spinner' }, { name: 'Weaver', description: 'Looms' }])
    t.match(await send(ada, roles, body, key), { status: 422, body: { code: 'idempotency_key_reused' } })
  const named = await ada.get(`${roles}?search=Spinner`)
  t.equal(named.body.results.length, 0, 'a refused call creates nothing')
})

t.test('a key counts per caller and route', async (t) => {
  const key = newKey()
  const admin = await colleague(service, ada, 'admin')
  await send(ada, `${tenant}/departments/`, { name: 'Looms' }, key)
  const other = await send(admin, `${tenant}/departments/`, { name: 'Looms of an admin' }, key)
  t.match(other, { status: 201, body: { name: 'Looms of an admin' } })
  t.match(await send(ada, roles, { name: 'Dyer' }, key), { status: 201, body: { name: 'Dyer' } })
})

t.test('of parallel calls with one key one creates; the others get its answer, or 409', async (t) => {
  for (let round = 0; round < rounds(2, 10); round++) {
    const body = { name: `Parallel ${round}` }
    const key = newKey()
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => send(ada, '/api/v1/tenants/', body, key)),
    )
    for (const { status, body } of answers)
      if (status !== 201)
        t.match({ status, body }, { status: 409, body: { code: 'idempotency_key_in_flight' } })
    const created = answers.filter(({ status }) => status === 201)
    t.equal(new Set(created.map(({ body }) => body.id)).size, 1)
    const { body: list } = await ada.get(`/api/v1/tenants/?search=Parallel ${round}`)
    t.equal(list.results.length, 1)
  }
})

t.test('an answer is told again only to a caller who has the permission still', async (t) => {
  const admin = await colleague(service, ada, 'admin')
  const key = newKey()
  t.match(await send(admin, roles, { name: 'Carder' }, key), { status: 201 })
  const { body } = await ada.get(`${tenant}/members/?search=${admin.email}`)
  await ada.patch(`${tenant}/members/${body.results[0].id}/`, { roles: ['member'] })
  t.match(await send(admin, roles, { name: 'Carder' }, key), { status: 403 })
})

t.test('an answer with a secret is stored sealed, and told again in full', async (t) => {
  const key = newKey()
  const hook = { url: 'https://hooks.example.com/x', event_types: ['tenant.role_created'] }
  const first = await send(ada, '/api/v1/webhooks/', hook, key)
  const second = await send(ada, '/api/v1/webhooks/', hook, key)
  t.match(second, { status: 201, body: { id: first.body.id, secret: first.body.secret } })
  const { rows } = await superuser.query('select * from idempotency_keys')
  const stored = Buffer.concat(rows.map(({ answer_sealed: sealed }) => sealed)).toString('latin1')
  t.notMatch(stored + JSON.stringify(rows), first.body.secret)
  t.notMatch(stored, ada.email)
})

t.test('an approval that the first call consumed need not be given again', async (t) => {
  const boss = await service.signUp()
  const office = `/api/v1/tenants/${boss.tenantId}`
  const clerk = await colleague(service, boss, 'admin')
  const gate = {
    name: 'Four eyes',
    effect: 'require_approval',
    actions: ['department:create'],
    resource_types: ['department'],
    approval: { approver: { roles: ['owner'] } },
  }
  t.match(await boss.post('/api/v1/policies/', gate), { status: 201 })
  const [key, body] = [newKey(), { name: 'Dye works' }]
  const gated = await send(clerk, `${office}/departments/`, body, key)
  t.match(gated, { status: 403, body: { code: 'approval_required' } })
  const { id } = gated.body.approval_request
  t.match(await boss.post(`/api/v1/approval-requests/${id}/approve/`), { status: 200 })
  const headers = { 'idempotency-key': key, 'approval-request': id }
  const first = await clerk.post(`${office}/departments/`, body, { headers })
  t.match(first, { status: 201 }, 'the refusal was not stored')
  const second = await clerk.post(`${office}/departments/`, body, { headers })
  t.match(second, { status: 201, body: { id: first.body.id } })
})

t.test('a call in two transactions is repeated like one in a single one', async (t) => {
  const person = await service.signUp()
  const [key, body] = [newKey(), { user_id: person.id, roles: ['member'] }]
  const first = await send(ada, `${tenant}/members/`, body, key)
  t.match(first, { status: 201 })
  t.strictSame((await send(ada, `${tenant}/members/`, body, key)).body, first.body)
})

t.test('a malformed key is refused, and one on another route has no effect', async (t) => {
  for (const key of [' ', 'x'.repeat(256), 'a b', 'ä'])
    t.match(await send(ada, roles, { name: 'Odd' }, Buffer.from(key).toString('latin1')), {
      status: 400,
      body: { errors: [{ field: 'Idempotency-Key' }] },
    })
  t.match(await send(ada, '/api/v1/auth/otp/email/send/', undefined, 'a b'), { status: 200 })
})

t.test('after 24 hours a key is free, and the sweeper deletes its answer', async (t) => {
  const bob = await service.signUp()
  const path = `/api/v1/tenants/${bob.tenantId}/roles/`
  const key = newKey()
  await send(bob, path, { name: 'Fuller' }, key)
  const count = async () => {
    const { rows } = await superuser.query('select id from idempotency_keys where user_id = $1', [bob.id])
    return rows.length
  }
  service.advance(86_400_000 - 1_000)
  const again = await service.logIn(bob)
  const repeatedCall = await send(again, path, { name: 'Fuller' }, key)
  t.equal(repeatedCall.headers.get(replayed), 'true')
  await sweep(service.worker!)
  t.equal(await count(), 1)
  service.advance(1_000)
  t.match(await send(again, path, { name: 'Fuller' }, key), { status: 409, body: { code: 'name_taken' } })
  t.match(await send(again, path, { name: 'Fuller of cloth' }, key), { status: 201 })
  service.advance(86_400_001)
  await sweep(service.worker!)
  t.equal(await count(), 0)
})
