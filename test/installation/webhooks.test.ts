import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { callCli, settingsFor } from '../cli/run-cli.ts'
import { openDatabase } from '../helpers/event-log.ts'
import { startService } from '../helpers/service.ts'
import { startReceiver } from '../workers/receiver.ts'
import { until } from '../workers/stage.ts'

// Webhooks of a manifest: an application receives the events of every tenant.

const keys = randomBytes(32).toString('base64url')
const service = await startService(t, {
  env: {
    SECRET_KEYS: keys,
    WEBHOOK_ALLOW_PRIVATE: 'true',
    LIMIT_WEBHOOKS: '1',
    LIMIT_DELIVERIES_PER_DAY: '1',
  },
  actors: ['outbox-relay', 'event-fanout', 'webhook'],
})
service.advance(Date.now() - service.now()) // receivers compare the time of a signature with theirs
const env = { ...settingsFor(service.databases, keys), WEBHOOK_ALLOW_PRIVATE: 'true' }
const cli = (...args: string[]) => callCli(args, { env })
const database = await openDatabase(t, service)
const receiver = await startReceiver(t)

let files = 0
function apply(webhooks: object) {
  const name = `manifest${++files}.json`
  const text = JSON.stringify({ application: 'logbook', name: 'Logbook', webhooks })
  return cli('manifest:apply', '--json', '--file', join(t.testdir({ [name]: text }), name))
}

const ada = await service.signUp()
const webhook = { url: `${receiver.url}/logbook?key=hidden`, event_types: ['tenant.*'] }
const first = await apply({ 'all-tenants': webhook })
const secret = first.json().secrets[0].secret
const secondApply = await apply({ 'all-tenants': webhook })
const addDepartment = (name: string) => ada.post(`/api/v1/tenants/${ada.tenantId}/departments/`, { name })
const received = (type: string, tenantId: string) =>
  receiver.taken.filter((one) => one.tenantId === tenantId && JSON.parse(one.body).type === type)

t.test('the application receives the events of existing and of new tenants, signed', async (t) => {
  t.equal(first.code, 0)
  t.match(secondApply.json(), { is_new: false, secrets: [] })
  const grace = await service.signUp()
  await addDepartment('Bridge')
  await until(() => received('tenant.tenant_created', grace.tenantId).length === 1)
  await until(() => received('tenant.department_created', ada.tenantId).length === 1)
  for (const { headers, body } of receiver.taken) new Webhook(secret).verify(body, headers)
  const types = receiver.taken.map(({ body }) => JSON.parse(body).type.split('.')[0])
  t.same([...new Set(types)], ['tenant'])
})

t.test('an event type that no event has is a fault of the manifest', async (t) => {
  const { code, said } = await apply({ 'all-tenants': { ...webhook, event_types: ['tenant.member_aded'] } })
  t.equal(code, 1)
  t.match(said, 'has the type \\"tenant.member_aded\\". Did you mean tenant.member_added?')
})

t.test("the tenant's daily limit does not keep events from the application", async () => {
  for (const name of ['Galley', 'Deck', 'Hold']) await addDepartment(name)
  await until(() => received('tenant.department_created', ada.tenantId).length === 4)
})

t.test('a tenant sees the webhook without its path, and cannot change it', async (t) => {
  const { body } = await ada.get('/api/v1/webhooks/')
  t.match(body, {
    count: 1,
    results: [{ managed_by: 'logbook', managed_as: 'all-tenants', status: 'active' }],
  })
  t.equal(body.results[0].url, `${receiver.url}/…`)
  const path = `/api/v1/webhooks/${body.results[0].id}/`
  const refused = { status: 409, body: { code: 'managed', application: 'logbook' } }
  t.match(await ada.patch(path, { is_active: false }), refused)
  t.match(await ada.delete(path), refused)
  for (const verb of ['test', 'rotate-secret']) t.match(await ada.post(`${path}${verb}/`), refused, verb)
  t.equal((await ada.get(`${path}deliveries/`)).status, 200)
  const own = await ada.post('/api/v1/webhooks/', {
    url: `${receiver.url}/own`,
    event_types: ['identity.passkey_renamed'],
  })
  t.match(own, { status: 201, body: { managed_by: null } }, 'it does not count towards LIMIT_WEBHOOKS')
})

t.test('a new secret signs together with the previous one', async (t) => {
  const rotate = ['manifest:rotate-secret', '--application', 'logbook', '--json', '--webhook']
  t.match(await cli(...rotate, 'other'), { code: 1, said: /not_found/ })
  const rotated = (await cli(...rotate, 'all-tenants')).json()
  receiver.taken.length = 0
  await addDepartment('Mast')
  await until(() => receiver.taken.length === 1)
  const [{ body, headers }] = receiver.taken as [(typeof receiver.taken)[0]]
  for (const one of [secret, rotated.secret]) t.ok(new Webhook(one).verify(body, headers))
  const { rows } = await database.query(
    "select encode(secret_sealed, 'escape') as sealed from manifest_webhooks",
  )
  t.notMatch(rows[0].sealed, rotated.secret, 'it is stored sealed')
})

t.test('a receiver that answers 410 does not disable it: no tenant could enable it again', async (t) => {
  receiver.answer = () => 410
  await addDepartment('Keel')
  const failures = 'select failures, disabled_reason from webhooks where failures > 0'
  await until(async () => (await database.query(failures)).rows.length === 1)
  t.match((await database.query(failures)).rows, [{ disabled_reason: null }])
})

t.test('without it in the manifest, it goes from every tenant', async (t) => {
  t.match((await apply({})).json(), { differences: [{ change: 'removed', kind: 'webhook' }] })
  t.match((await ada.get('/api/v1/webhooks/')).body, { count: 1, results: [{ managed_by: null }] })
  const { rows } = await database.query('select id from webhooks where managed_by is not null')
  t.same(rows, [])
})
