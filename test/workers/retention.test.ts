import { randomUUID } from 'node:crypto'
import t from 'tap'
import { earliestId } from '../../src/messages/outbox/time-ordered-id.ts'
import { readConfig } from '../../src/settings/config.ts'
import { deleteOutdated, retention } from '../../workers/retention.ts'
import { openStage, type Stage, until, usualBackends } from './stage.ts'

const day = 86_400_000
const at = (ms: number) => `'${new Date(ms).toISOString()}'::timestamptz`
/** The id of the nth row at one time, in the format of time-ordered ids. */
const idAt = (ms: number, n = 'n') =>
  `('${earliestId(ms).slice(0, 24)}' || lpad(to_hex(${n}), 12, '0'))::uuid`

const ofNothing = {
  given_up: 0,
  decisions: 0,
  shadow_counts: 0,
  deliveries: 0,
  logouts: 0,
  events: 0,
  feed_entries: 0,
  audit_rows: 0,
  approval_bodies: 0,
  approval_requests: 0,
  versions_of_deleted: 0,
  dead_letters: 0,
  mails: 0,
  sign_in_places: 0,
  sign_ins: 0,
  directory_log: 0,
  log_counts: 0,
  people_scrubbed: 0,
}

const decisions = (tenant: string, count: number, ms: number) => `
  insert into decisions (tenant_id, id, at, effect, action, resource_type, subject_id, reasons, matched, obligations,
                         policy_revision, engine_revision, facts, duration_us, request_id)
  select '${tenant}', gen_random_uuid(), ${at(ms)}, 'deny', 'doc:read', 'doc', 'a', '[]', '[]', '[]',
         0, '', '{}', 1, '' from generate_series(1, ${count});`
const auditRows = (tenant: string, count: number, ms: number) => `
  insert into audit_log (tenant_id, id, at, actor_type, action, target_type, target_id, ip, user_agent, request_id, changes)
  select '${tenant}', gen_random_uuid(), ${at(ms)}, 'system', 'tenant:create', 'tenant', '${tenant}', '', '', '', '{}'
  from generate_series(1, ${count});`
const mails = (tenant: string, count: number, ms: number) => `
  insert into mails (tenant_id, id, template, created_at)
  select '${tenant}', ${idAt(ms)}, 'new_sign_in', ${at(ms)} from generate_series(1, ${count}) n;`
const deadLetters = (tenant: string, count: number, ms: number) => `
  insert into dead_letters (tenant_id, id, queue, payload, created_at, failed_at, attempts, error)
  select '${tenant}', gen_random_uuid(), 'email', '{}', now(), ${at(ms)}, 1, '' from generate_series(1, ${count});`
const requests = (tenant: string, count: number, ms: number) => `
  insert into directory_log (tenant_id, id, at, method, path, status, request_id)
  select '${tenant}', gen_random_uuid(), ${at(ms)}, 'GET', '/scim/v2/Users', 200, '' from generate_series(1, ${count});`
const events = (tenant: string, first: number, last: number, ms: number) => `
  insert into events (tenant_id, id, type, subject, data, request_id, occurred_at, sequence)
  select '${tenant}', ${idAt(ms)}, 'identity.user_updated', '', '{}', '', ${at(ms)}, n
  from generate_series(${first}, ${last}) n;
  insert into event_sequences (tenant_id, last) values ('${tenant}', ${last}) on conflict (tenant_id) do update set last = ${last};`
const webhook = (tenant: string, id: string) => `
  insert into webhooks (tenant_id, id, url, secret_sealed, created_at, updated_at)
  values ('${tenant}', '${id}', 'https://receiver.example/', '', now(), now());`
/** Inserts `count` deliveries of a webhook, of events at `of`, which ended at `ms` or, with null, are open. */
const deliveries = (tenant: string, webhookId: string, count: number, ms: number | null, of = Date.now()) => `
  insert into webhook_deliveries (tenant_id, id, webhook_id, event_id, event_type, sequence, in_order, status, next_attempt_at,
                                  retry_until, created_at, ended_at)
  select '${tenant}', gen_random_uuid(), '${webhookId}', ${idAt(of)}, 'a.b', n, true,
         ${ms === null ? "'pending', now()" : "'dead', null"}, now(), '2026-01-01', ${ms === null ? 'null' : at(ms)}
  from generate_series((select count(*) + 1 from webhook_deliveries), (select count(*) + ${count} from webhook_deliveries)) n;`

/** The number of rows of each kind, for each tenant. */
const left = async ({ tenants, count }: Stage, table: string) => {
  const counts: number[] = []
  for (const tenant of tenants) counts.push(await count(`${table} where tenant_id = '${tenant}'`))
  return counts
}

t.test('rows older than their retention are deleted in batches, in all tenants', async (t) => {
  const stage = await openStage(t, { tenants: 2 })
  const { deps, root, rows, tenants } = stage
  const [one, other] = tenants as [string, string]
  const now = Date.now()
  const kinds = {
    decisions: [90, decisions],
    audit_log: [400, auditRows],
    mails: [30, mails],
    dead_letters: [90, deadLetters],
  } as const
  for (const [days, write] of Object.values(kinds)) {
    const old = now - days * day - 1
    await root.query(write(one, 2_500, old) + write(other, 3, old) + write(other, 2, old + 2))
  }
  const old = now - 90 * day - 1
  await root.query(events(one, 1, 1_200, old) + events(other, 1, 3, old) + events(other, 4, 5, old + 2))
  const user = '019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b'
  await root.query(`
    insert into users (id, email, password_hash, date_joined, updated_at) values ('${user}', 'a@example.com', '', now(), now());
    insert into sign_in_places (user_id, address, device, first_at, last_at)
    values ('${user}', 'a', '', now(), ${at(now - 180 * day)}), ('${user}', 'b', '', now(), ${at(now - 180 * day + 2)})`)

  t.same(
    await deleteOutdated({ ...deps, clock: () => now - 1 }),
    ofNothing,
    'one millisecond earlier nothing is deleted',
  )
  const deleted = {
    decisions: 2_503,
    events: 1_203,
    audit_rows: 2_503,
    mails: 2_503,
    dead_letters: 2_503,
    sign_in_places: 1,
  }
  t.same(await deleteOutdated({ ...deps, clock: () => now }), { ...ofNothing, ...deleted })
  for (const table of [...Object.keys(kinds), 'events']) t.same(await left(stage, table), [0, 2], table)
  t.same(
    (await rows('select deleted_up_to::int as n from event_sequences order by 1')).map(({ n }) => n),
    [3, 1_200],
    'readers of the feed can see what they missed',
  )
  t.same(await rows('select address from sign_in_places'), [{ address: 'b' }])
  t.same(await deleteOutdated({ ...deps, clock: () => now }), ofNothing)

  const config = {
    ...deps.config,
    DECISION_RETENTION_DAYS: 89,
    EVENT_RETENTION_DAYS: 89,
    AUDIT_RETENTION_DAYS: 399,
    MAIL_RETENTION_DAYS: 29,
    DEAD_LETTER_RETENTION_DAYS: 89,
    SIGN_IN_PLACE_RETENTION_DAYS: 179,
  }
  const rest = { decisions: 2, events: 2, audit_rows: 2, mails: 2, dead_letters: 2, sign_in_places: 1 }
  t.same(await deleteOutdated({ ...deps, config, clock: () => now }), { ...ofNothing, ...rest })
  t.throws(() => readConfig({ DECISION_RETENTION_DAYS: '0' }), /DECISION_RETENTION_DAYS/)
  t.throws(() => readConfig({ DECISION_RETENTION: '7' }), /DECISION_RETENTION is not a setting/)
  t.throws(() => readConfig({ AUDIT_RETENTION: '7' }), /AUDIT_RETENTION is not a setting/)
})

t.test('requests of directories are kept for 30 days, and the newest 100,000 of a tenant', async (t) => {
  const { deps, root, tenants, count } = await openStage(t, { tenants: 2 })
  const [one, other] = tenants as [string, string]
  const now = Date.now()
  await root.query(requests(one, 3, now - 30 * day - 1) + requests(other, 2, now - 30 * day + 1))
  t.match(await deleteOutdated({ ...deps, clock: () => now }), { directory_log: 3 })
  await root.query(requests(one, 101_200, now))
  t.match(await deleteOutdated({ ...deps, clock: () => now }), { directory_log: 1_200 })
  t.equal(await count('directory_log'), 100_002)
})

t.test('an event without a sequence is kept, however old', async (t) => {
  const { deps, root, tenant, count } = await openStage(t)
  const now = Date.now()
  await root.query(events(tenant, 1, 1, now - 100 * day))
  await root.query('update events set sequence = null')
  t.equal((await deleteOutdated({ ...deps, clock: () => now })).events, 0)
  t.equal(await count('events'), 1)
})

t.test('ended deliveries are kept for 30 days, and open ones as long as their events', async (t) => {
  const { deps, root, rows, tenants } = await openStage(t, { tenants: 2 })
  const [one, other] = tenants as [string, string]
  const [a, b] = [randomUUID(), randomUUID()]
  const now = Date.now()
  const old = now - 30 * day - 1
  await root.query(webhook(one, a) + webhook(other, b))
  for (const write of [
    deliveries(one, a, 2_500, old),
    deliveries(one, a, 1, null, now - 90 * day + 1),
    deliveries(one, a, 1, null, now - 90 * day - 1),
    deliveries(other, b, 3, old),
    deliveries(other, b, 2, old + 2),
  ])
    await root.query(write)
  t.equal((await deleteOutdated({ ...deps, clock: () => now - 1 })).deliveries, 0)
  t.match(await deleteOutdated({ ...deps, clock: () => now }), { deliveries: 2_503, given_up: 1 })
  t.same(
    await rows(
      'select webhook_id, status, count(*)::int from webhook_deliveries group by 1, 2 order by count(*), status',
    ),
    [
      { webhook_id: a, status: 'dead', count: 1 },
      { webhook_id: a, status: 'pending', count: 1 },
      { webhook_id: b, status: 'dead', count: 2 },
    ],
  )
  const config = { ...deps.config, WEBHOOK_DELIVERY_RETENTION_DAYS: 29 }
  t.equal((await deleteOutdated({ ...deps, config, clock: () => now })).deliveries, 2)
  t.throws(() => readConfig({ WEBHOOK_DELIVERY_RETENTION_DAYS: '0' }), /WEBHOOK_DELIVERY_RETENTION_DAYS/)
  t.throws(() => readConfig({ WEBHOOK_ALLOW: 'true' }), /WEBHOOK_ALLOW is not a setting/)
})

t.test('deliveries of a deleted webhook are deleted, open or not, and no others', async (t) => {
  const { deps, root, rows, tenants } = await openStage(t, { tenants: 2 })
  const [one, other] = tenants as [string, string]
  const [gone, kept, elsewhere] = [randomUUID(), randomUUID(), randomUUID()]
  await root.query(webhook(one, kept) + webhook(other, gone) + webhook(other, elsewhere))
  const now = Date.now()
  for (const write of [
    deliveries(one, gone, 1_200, null),
    deliveries(one, gone, 1_100, now),
    deliveries(one, kept, 5, null),
    deliveries(one, kept, 5, now),
    deliveries(other, gone, 3, now),
    deliveries(other, elsewhere, 2, null),
  ])
    await root.query(write)
  t.equal((await deleteOutdated({ ...deps, clock: () => now })).deliveries, 2_300)
  t.same(
    await rows(
      'select tenant_id, webhook_id, count(*)::int from webhook_deliveries group by 1, 2 order by 3 desc',
    ),
    [
      { tenant_id: one, webhook_id: kept, count: 10 },
      { tenant_id: other, webhook_id: gone, count: 3 },
      { tenant_id: other, webhook_id: elsewhere, count: 2 },
    ],
  )
  t.match(await deleteOutdated({ ...deps, clock: () => now }), ofNothing)
})

for (const { kind, skip } of usualBackends)
  t.test(`on ${kind} the schedule runs the retention`, { skip }, async (t) => {
    const { deps, root, rows, tenant, openBackend } = await openStage(t, { kind })
    await root.query(decisions(tenant, 1, Date.now() - 91 * day))
    const backend = openBackend()
    const running = await retention.start(deps, backend, 200)
    t.teardown(async () => {
      await running.stop()
      await backend.close()
    })
    await until(async () => (await rows('select from decisions')).length === 0)
  })
