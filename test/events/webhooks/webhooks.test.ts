import { randomUUID } from 'node:crypto'
import t from 'tap'
import { eventTypes } from '../../../src/messages/outbox/event-types.ts'
import { colleague } from '../../helpers/colleague.ts'
import { startService } from '../../helpers/service.ts'
import { expect, look } from '../../tenancy/staff.ts'

const service = await startService(t, { workers: false })
const all = '/api/v1/webhooks/'
const url = 'https://receiver.example/events'
/** The URL in the audit log: auditors cannot read webhooks, and the rest of a URL can be a secret of its receiver. */
const shown = /^https:\/\/receiver\.example\/… \(sha256 [0-9a-f]{16}\)$/
const owner = await service.signUp()
const audited = async (action: string) =>
  (await expect(200, owner.get(`/api/v1/audit-log/?action=${action}`))).results

t.test('a webhook is created with its secret, and read without', async (t) => {
  const answer = await owner.post(all, { url })
  t.equal(answer.status, 201)
  t.equal(answer.headers.get('cache-control'), 'no-store')
  const { secret, ...webhook } = answer.body
  t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  const at = new Date(service.now()).toISOString()
  t.strictSame(webhook, {
    id: webhook.id,
    url,
    description: '',
    event_types: [],
    is_active: true,
    status: 'active',
    disabled_reason: null,
    managed_by: null,
    managed_as: null,
    created_at: at,
    updated_at: at,
    last_success_at: null,
    last_failure_at: null,
  })
  const read = await owner.get(`${all}${webhook.id}/`)
  t.strictSame(read.body, webhook)
  t.equal(read.headers.get('etag'), '"1"')
  const { results, count } = (await owner.get(all)).body
  t.strictSame([results, count], [[webhook], 1])
  t.notMatch(JSON.stringify(await audited('webhook:create')), 'example/events')
  t.match(await audited('webhook:create'), [
    { target: { type: 'webhook', id: webhook.id }, changes: { url: { before: null, after: shown } } },
  ])
})

t.test('a type that no event of the service has is refused, with the nearest', async (t) => {
  const { id } = (await owner.post(all, { url, event_types: ['identity.*'] })).body
  const wrong = {
    'tenants.*': 'tenant.*',
    'tenant.member_aded': 'tenant.member_added',
    identity: 'identity.*',
    foo: null,
  }
  const event_types = ['tenant.*', ...Object.keys(wrong)]
  const errors = Object.values(wrong).map((meant, index) => ({
    field: `event_types.${index + 1}`,
    code: 'unknown_event_type',
    meant,
  }))
  const refused = { status: 400, body: { code: 'validation_error', errors } }
  t.match(await owner.post(all, { url, event_types }), refused)
  const changed = await owner.patch(`${all}${id}/`, { event_types })
  t.match(changed, refused)
  t.match(
    changed.body.errors[1].detail,
    'has the type "tenant.member_aded". Did you mean tenant.member_added?',
  )
  t.match(
    changed.body.errors[3].detail,
    'Prefixes are identity.*, tenant.*, directory.*, application.*, authorization.*.',
  )
  await look(service, `update webhooks set event_types = '{app.order_paid}' where id = '${id}'`)
  t.match(
    await owner.patch(`${all}${id}/`, { description: 'Old' }),
    {
      status: 200,
      body: { event_types: ['app.order_paid'] },
    },
    'what is stored since an earlier release stays',
  )
  t.equal((await owner.delete(`${all}${id}/`)).status, 204)
})

t.test('PUT and PATCH change single fields of a webhook, if its ETag matches', async (t) => {
  const { id } = (
    await owner.post(all, { url, event_types: ['identity.*', 'tenant.member_added', 'identity.*'] })
  ).body
  const one = `${all}${id}/`
  service.advance(1_000)
  const put = await owner.put(one, {
    description: 'Billing',
    id: randomUUID(),
    status: 'disabled',
  })
  t.match(put, {
    status: 200,
    body: {
      id,
      url,
      description: 'Billing',
      status: 'active',
      event_types: ['identity.*', 'tenant.member_added'],
      updated_at: new Date(service.now()).toISOString(),
    },
  })
  t.notOk('secret' in put.body)
  const tag = (await owner.get(one)).headers.get('etag')!
  t.equal(tag, '"2"')
  const stale = { headers: { 'if-match': '"1"' } }
  const refused = { status: 412, body: { code: 'precondition_failed' } }
  t.match(await owner.patch(one, { description: 'Lost' }, stale), refused)
  t.match(await owner.delete(one, stale), refused)
  const patched = await owner.patch(one, { is_active: false }, { headers: { 'if-match': tag } })
  t.match(patched.body, {
    is_active: false,
    status: 'disabled',
    disabled_reason: null,
    description: 'Billing',
  })
  t.equal((await owner.get(one)).headers.get('etag'), '"3"')
  const [line] = await audited('webhook:update')
  t.strictSame(line.changes, { is_active: { before: true, after: false } })
  const lines = (await audited('webhook:update')).length
  service.advance(1_000)
  t.strictSame(
    (await owner.put(one, { is_active: false, event_types: ['identity.*', 'tenant.member_added'] })).body,
    patched.body,
  )
  t.equal((await owner.get(one)).headers.get('etag'), '"3"', 'a change without effect keeps the version')
  t.equal((await audited('webhook:update')).length, lines)
})

t.test('of many changes with the same ETag one succeeds', async (t) => {
  const { id } = (await owner.post(all, { url })).body
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      owner.patch(`${all}${id}/`, { description: `By ${n}` }, { headers: { 'if-match': '"1"' } }),
    ),
  )
  t.same(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(412)])
})

t.test('a deleted webhook is gone, with its deliveries', async (t) => {
  const { id } = (await owner.post(all, { url })).body
  await expect(200, owner.post(`${all}${id}/test/`))
  t.equal((await owner.delete(`${all}${id}/`, { headers: { 'if-match': '"1"' } })).status, 204)
  for (const path of ['', 'deliveries/']) t.equal((await owner.get(`${all}${id}/${path}`)).status, 404, path)
  t.equal((await owner.delete(`${all}${id}/`)).status, 404)
  t.match(await audited('webhook:delete'), [
    { target: { id }, changes: { url: { before: shown, after: null } } },
  ])
})

t.test('activating a disabled webhook again makes its waiting deliveries due at once', async (t) => {
  const { id } = (await owner.post(all, { url })).body
  const later = new Date(service.now() + 3_600_000).toISOString()
  await look(
    service,
    `update webhooks set disabled_reason = 'gone', failures = 3, version = version + 1, failing_since = created_at where id = '${id}'`,
  )
  await look(
    service,
    `insert into webhook_deliveries (tenant_id, id, webhook_id, event_id, event_type, sequence, in_order, status, attempt,
       next_attempt_at, retry_until, created_at)
     select '${owner.tenantId}', gen_random_uuid(), '${id}', gen_random_uuid(), 'x', n, true, 'pending', 1, '${later}', '${later}', '${later}'
     from generate_series(1, 3) n`,
  )
  const waiting = () =>
    look(
      service,
      `select id, enqueued_at from outbox where queue = 'webhook' and payload ->> 'webhook_id' = '${id}'`,
    )
  const read = await owner.get(`${all}${id}/`)
  t.match(read.body, { is_active: true, status: 'disabled', disabled_reason: 'gone' })
  t.equal(read.headers.get('etag'), '"2"')
  await expect(200, owner.patch(`${all}${id}/`, { description: 'Still' }))
  t.match((await owner.get(`${all}${id}/`)).body, { disabled_reason: 'gone' }, 'only is_active enables it')
  t.same(await waiting(), [])

  const opened = await expect(200, owner.patch(`${all}${id}/`, { is_active: true }))
  t.match(opened, { status: 'active', disabled_reason: null })
  const [row] = await look(service, `select failures, failing_since from webhooks where id = '${id}'`)
  t.same(row, { failures: 0, failing_since: null })
  const due = await look(
    service,
    `select sequence::int from webhook_deliveries where webhook_id = '${id}' and next_attempt_at <= '${new Date(service.now()).toISOString()}'`,
  )
  t.same(due, [{ sequence: 1 }], 'the first in order')
  const [first, ...others] = await waiting()
  t.same(others, [])

  await look(service, `update outbox set enqueued_at = created_at where id = '${first.id}'`)
  await expect(200, owner.patch(`${all}${id}/`, { is_active: true }))
  t.same(await waiting(), [{ id: first.id, enqueued_at: (await waiting())[0].enqueued_at }], 'it was active')
  await look(service, `update webhooks set failures = 1, failing_since = created_at where id = '${id}'`)
  await expect(200, owner.patch(`${all}${id}/`, { is_active: true }))
  const [second, ...more] = await waiting()
  t.same(more, [])
  t.not(second.id, first.id, 'the message is replaced, so that its delay does not matter')
  t.equal(second.enqueued_at, null)
})

t.test('an invalid webhook is refused with the name of the field', async (t) => {
  const long = 'x'.repeat(10_000)
  const wrong: [string, object][] = [
    ['url', {}],
    ...[
      null,
      1,
      true,
      [],
      {},
      '',
      'x',
      'receiver.example',
      '//receiver.example/',
      'http://receiver.example/',
    ].map(wrongUrl),
    ...['ftp://receiver.example/', 'javascript:alert(1)', 'file:///etc/passwd', 'https://', 'https:///'].map(
      wrongUrl,
    ),
    ...[
      'https://user:pass@receiver.example/',
      'https://user@receiver.example/',
      `https://receiver.example/${long}`,
    ].map(wrongUrl),
    ...['localhost', 'a.localhost', 'LOCALHOST.', 'db.internal', 'printer.local', '127.0.0.1', '127.1'].map(
      wrongHost,
    ),
    ...[
      '0x7f000001',
      '2130706433',
      '0177.0.0.1',
      '10.0.0.1',
      '172.16.0.1',
      '192.168.1.1',
      '169.254.169.254',
    ].map(wrongHost),
    ...['100.64.0.1', '0.0.0.0', '224.0.0.1', '255.255.255.255', '192.0.2.1', '198.18.0.1', '240.0.0.1'].map(
      wrongHost,
    ),
    ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::127.0.0.1]', '[fe80::1]', '[fd00::1]', '[ff02::1]'].map(
      wrongHost,
    ),
    ...['[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[2001:db8::1]', '[2001::1]', '１２７.0.0.1'].map(wrongHost),
    ...[null, 1, [], long].map((description) => ['description', { url, description }] as [string, object]),
    ...[null, 1, 'identity.*', {}].map(
      (types) => ['event_types', { url, event_types: types }] as [string, object],
    ),
    ...[1, null, '', '*', 'identity*', 'Identity.user_created', 'a b', '.a', 'a.', 'a.*.b', long, ['a']].map(
      (type) => ['event_types.1', { url, event_types: ['tenant.*', type] }] as [string, object],
    ),
    ['event_types', { url, event_types: Array.from({ length: 101 }, (_, n) => `app.event_${n}`) }],
    ['event_types', { url, event_types: Array(19_000).fill(1) }],
    ...[null, 'true', 1].map((active) => ['is_active', { url, is_active: active }] as [string, object]),
  ]
  const { id } = (await owner.post(all, { url })).body
  const before = await look(service, 'select * from webhooks order by id')
  for (const [field, body] of wrong) {
    const title = JSON.stringify(body).slice(0, 80)
    const answer = await owner.post(all, body)
    t.match(answer, { status: 400, body: { code: 'validation_error', errors: [{ field }] } }, title)
    t.ok(JSON.stringify(answer.body).length < 2_000, 'the error does not repeat the input')
    if (Object.keys(body).length > 0)
      t.match(await owner.put(`${all}${id}/`, body), { status: 400, body: { errors: [{ field }] } }, title)
  }
  t.same(await look(service, 'select * from webhooks order by id'), before)
  const edge = {
    url: `https://receiver.example/${'x'.repeat(2_000 - 25)}`,
    description: '\u{1f600}'.repeat(2_000),
    event_types: Object.keys(eventTypes),
  }
  t.match(await owner.post(all, edge), { status: 201, body: edge })
  await look(service, `delete from webhooks where tenant_id = '${owner.tenantId}'`)
})

const wrongUrl = (given: unknown): [string, object] => ['url', { url: given }]
const wrongHost = (host: string): [string, object] => ['url', { url: `https://${host}/events` }]

t.test(
  'with WEBHOOK_ALLOW_PRIVATE, URLs into the private network are allowed, and credentials are not',
  async (t) => {
    const inside = await startService(t, { workers: false, env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
    const admin = await inside.signUp()
    for (const url of [
      'http://127.0.0.1:4000/events',
      'https://localhost/',
      'http://[::1]/',
      'http://db.internal/',
    ])
      t.equal((await admin.post(all, { url })).status, 201, url)
    for (const url of ['ftp://127.0.0.1/', 'http://user:pass@127.0.0.1/', 'x'])
      t.equal((await admin.post(all, { url })).status, 400, url)
  },
)

t.test('with WEBHOOK_ALLOWED_HOSTS, other hosts are refused by name', async (t) => {
  const env = { WEBHOOK_ALLOWED_HOSTS: 'hooks.example.com, *.Example.org' }
  const admin = await (await startService(t, { workers: false, env })).signUp()
  t.equal((await admin.post(all, { url: 'https://a.example.org/' })).status, 201)
  const detail = 'Give a URL of an allowed host: hooks.example.com, *.example.org.'
  t.match(await admin.post(all, { url }), { status: 400, body: { errors: [{ detail }] } })
})

t.test('only owners and admins manage webhooks, and those of another tenant are unknown', async (t) => {
  const { id } = (await owner.post(all, { url })).body
  const { delivery_id: did } = (await owner.post(`${all}${id}/test/`)).body
  const paths: ['get' | 'post' | 'put' | 'patch' | 'delete', string][] = [
    ['get', ''],
    ['put', ''],
    ['patch', ''],
    ['post', 'test/'],
    ['post', 'rotate-secret/'],
    ['get', 'deliveries/'],
    ['post', `deliveries/${did}/replay/`],
    ['delete', ''],
  ]
  const stranger = await service.signUp()
  const own = (await stranger.post(all, { url })).body.id
  const ask = async (method: (typeof paths)[number][0], path: string) => {
    const { status, body } =
      method === 'get' || method === 'delete'
        ? await stranger[method](path)
        : await stranger[method](path, { url })
    return JSON.stringify({ status, body: { ...body, instance: '', decision_id: '' } })
  }
  for (const [method, path] of paths)
    t.equal(
      await ask(method, `${all}${id}/${path}`),
      await ask(method, `${all}${randomUUID()}/${path}`),
      `${method} ${path}`,
    )
  t.equal(
    (await stranger.post(`${all}${own}/deliveries/${did}/replay/`)).status,
    404,
    'also below a webhook of the caller',
  )
  t.strictSame((await stranger.get(all)).body.results.length, 1)
  for (const role of ['member', 'auditor']) {
    const person = await colleague(service, owner, role)
    t.equal((await person.get(all)).status, 403, role)
    t.equal((await person.post(all, { url })).status, 403, role)
    t.equal((await person.post(`${all}${id}/rotate-secret/`)).status, 403, role)
  }
  const admin = await colleague(service, owner, 'admin')
  t.equal((await admin.get(`${all}${id}/`)).status, 200)
})
