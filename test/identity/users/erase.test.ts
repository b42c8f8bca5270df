import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { asSystem } from '../../../src/database/executor/transaction.ts'
import { erasePerson, lockPersonWithTenants } from '../../../src/identity/users/erase-person.ts'
import { eraseUser } from '../../../src/identity/users/erase-user.ts'
import { deleteOutdated } from '../../../workers/retention.ts'
import { untilLocked } from '../../helpers/lock-waits.ts'
import { type Client, type Service, startService, tokenIn } from '../../helpers/service.ts'
import { expect, foundFirm, look, wrongCounts } from '../../tenancy/staff.ts'

const service = await startService(t)
const me = '/api/v1/users/me/'
const named = { first_name: 'Adalinda', last_name: 'Quillfeather' }
const names = Object.values(named).map((name) => name.toLowerCase())

/** The places where a text occurs in a column of text or JSON. The mailbox stands for the mails that left the service. */
async function placesOf({ databases }: Service, texts: string[]): Promise<string[]> {
  const client = new pg.Client({ connectionString: databases.superuser })
  await client.connect()
  const { rows: columns } = await client.query(`
    select table_name as name, column_name as field from information_schema.columns
    where table_schema = 'public' and table_name <> 'captured_mails'
      and data_type in ('text', 'character varying', 'jsonb', 'json', 'ARRAY')`)
  const found: string[] = []
  // One statement for each table: one for each column and text, a thousand, took half of the time of this file.
  for (const [name, fields = []] of Object.entries(Object.groupBy(columns, ({ name }) => name))) {
    const places = fields.flatMap(({ field }) => texts.map((text, n) => ({ field, text, n: n + 1 })))
    const counts = places.map(
      ({ field, n }) => `count(*) filter (where strpos(lower(${field}::text), $${n}) > 0)::int`,
    )
    const { rows } = await client.query({
      text: `select ${counts} from ${name}`,
      values: texts,
      rowMode: 'array',
    })
    for (const [n, { field, text }] of places.entries())
      if (rows[0]![n]! > 0) found.push(`${name}.${field}: ${text}`)
  }
  await client.end()
  return found
}

const scrub = async () => {
  service.advance(120_000)
  await deleteOutdated(service.worker!)
}

t.test('after a person erases themselves, no column of any table identifies them', async (t) => {
  const firm = await foundFirm(service)
  const ada = await service.signUp(named)
  const { email } = ada
  await expect(200, ada.patch(me, { last_name: 'Quillfeather-Moss' }))
  await expect(
    200,
    service.call('POST', '/api/v1/auth/email/verify/confirm/', {
      body: { token: tokenIn(await service.mailTo(email)) },
    }),
  )
  const external_id = 'quill-7731'
  const member = { user_id: ada.id, attributes: {}, external_id }
  await expect(201, firm.owner.post(`${firm.path}/members/`, member))
  await ada.switchTo(firm.id)
  const denied = await ada.post(`${firm.path}/departments/`, { name: 'No' })
  t.equal(denied.status, 403)
  for (const id of [ada.id, email, external_id])
    for (const resource of [
      { type: 'doc', id: '1' },
      { type: 'user', id },
    ]) {
      const question = { subject: { type: 'user', id }, action: { name: 'doc:read' }, resource }
      await expect(200, firm.owner.post('/access/v1/evaluation', question))
    }
  const other = await foundFirm(service)
  await expect(201, other.owner.post(`${other.path}/invitations/`, { email, roles: ['member'] }))
  t.not((await placesOf(service, [email, external_id, ...names])).length, 0)

  t.match(await ada.delete(me), { status: 401, body: { code: 'insufficient_user_authentication' } })
  t.match(await ada.delete(me, { body: { current_password: 'another harbour' } }), { status: 400 })
  await expect(204, ada.delete(me, { body: { current_password: ada.password } }))

  t.equal((await ada.get(me)).status, 401)
  const refresh = await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: ada.refresh } })
  t.equal(refresh.status, 401)
  const login = await service.call('POST', '/api/v1/auth/login/', {
    body: { email, password: ada.password },
  })
  t.match(login, { status: 401, body: { code: 'invalid_credentials' } })
  await scrub()
  t.same(await placesOf(service, [email, external_id, ...names]), [])
  t.same(await look(service, 'select from erasures'), [])

  const types = (await look(service, 'select type from events where tenant_id = $1', [firm.id])).map(
    (row) => row.type,
  )
  t.ok(types.includes('identity.user_deleted') && types.includes('tenant.member_removed'))
  const { results } = await expect(200, firm.owner.get('/api/v1/audit-log/?action=profile:delete'))
  t.match(results, [{ actor: { id: ada.id, email: null }, target: { id: ada.id }, ip: '', user_agent: '' }])
  await expect(200, firm.owner.get(`/api/v1/decisions/${denied.body.decision_id}/explain/`))
  const again = await service.signUp({ email })
  t.not(again.id, ada.id, 'the address is free')
})

t.test(
  'the only owner of a tenant with other members is refused, with a list of these tenants',
  async (t) => {
    const { owner, id, path, hire } = await foundFirm(service)
    const clerk = await hire('member')
    const erase = () => owner.delete(me, { body: { current_password: owner.password } })
    t.match(await erase(), { status: 409, body: { code: 'last_owner', tenants: [{ id, name: 'Firm' }] } })
    t.equal((await owner.get(me)).status, 200, 'nothing has changed')
    await expect(200, owner.patch(`${path}/members/${clerk.memberId}/`, { roles: ['owner'] }))
    await expect(204, erase())
    const [mine] = await look(service, 'select count(*)::int as n from memberships where tenant_id = $1', [
      id,
    ])
    t.equal(mine.n, 1)
    await expect(200, clerk.get(`${path}/`))
  },
)

t.test('the reader of a mailbox who rejects an account stays in the logs of its tenants', async (t) => {
  const firm = await foundFirm(service)
  const ada = await service.signUp(named)
  await expect(201, firm.owner.post(`${firm.path}/members/`, { user_id: ada.id, attributes: {} }))
  for (const id of [ada.id, ada.email]) {
    const question = {
      subject: { type: 'user', id },
      action: { name: 'read' },
      resource: { type: 'doc', id: '1' },
    }
    await expect(200, firm.owner.post('/access/v1/evaluation', question))
  }
  const token = tokenIn(await service.mailTo(ada.email, 'Confirm'))
  await expect(200, service.call('POST', '/api/v1/auth/email/verify/reject/', { body: { token } }))
  await scrub()
  const rows = await look(
    service,
    "select subject_id, facts ? 'cut' as cut from decisions where tenant_id = $1 and subject_id = any($2)",
    [firm.id, [ada.id, ada.email]],
  )
  t.same(
    new Map(rows.map(({ subject_id, cut }) => [subject_id, cut])),
    new Map([
      [ada.id, true],
      [ada.email, false],
    ]),
  )
  t.same(await look(service, 'select from erasures'), [])
})

t.test('a parallel sign-in, switch or new membership leaves nothing behind', async (t) => {
  for (let round = 0; round < 3; round++) {
    const firm = await foundFirm(service)
    const ada = await service.signUp(named)
    const { email, password, tenantId } = ada
    const answers = await Promise.all([
      ada.delete(me, { body: { current_password: password } }),
      service.call('POST', '/api/v1/auth/login/', { body: { email, password } }),
      ada.post('/api/v1/auth/switch-tenant/', { tenant_id: tenantId }),
      firm.owner.post(`${firm.path}/members/`, { user_id: ada.id }),
      ada.post('/api/v1/tenants/', { name: 'Late' }),
    ])
    t.ok(
      answers.every(({ status }) => status < 500 || status === 503),
      answers.map(({ status }) => status).join(),
    )
    if (answers[0]?.status !== 204) {
      const late = await service.logIn(ada)
      await expect(204, late.delete(me, { body: { current_password: password } }))
    }
    await scrub()
    t.same(await placesOf(service, [email, ...names]), [])
    const [left] = await look(service, 'select count(*)::int as n from memberships where user_id = $1', [
      ada.id,
    ])
    t.equal(left.n, 0)
  }
})

const erase = (who: Client) => who.delete(me, { body: { current_password: who.password } })

/** As `users:erase` does; gives whether it was this call that erased the person. */
const eraseAsOperator = async ({ email }: Client) => {
  const requestInfo = { requestId: 'test', ip: '', userAgent: '', traceparent: null }
  return (await eraseUser(service.deps, { person: { email }, by: 'operator', requestInfo })) !== null
}
const typesAbout = async (tenantId: string, userId: string) =>
  (
    await look(
      service,
      "select type from events where tenant_id = $1 and data ->> 'user_id' = $2 and type ~ 'member_|deleted' order by id",
      [tenantId, userId],
    )
  ).map(({ type }) => type)

t.test('who accepts an invitation while being erased leaves nothing behind', async (t) => {
  for (let round = 0; round < 8; round++) {
    const firm = await foundFirm(service)
    const ada = await service.signUp(named)
    const { email } = ada
    const verification = { token: tokenIn(await service.mailTo(email)) }
    await expect(200, service.call('POST', '/api/v1/auth/email/verify/confirm/', { body: verification }))
    await expect(201, firm.owner.post(`${firm.path}/invitations/`, { email, roles: ['member'] }))
    const token = tokenIn(await service.mailTo(email, 'invited'))
    const accept = ada.post('/api/v1/invitations/accept/', { token })
    await sleep(round) // ms: the two meet at different steps
    const overloaded = await eraseAsOperator(ada).then(
      () => false,
      ({ code }) => code === 'overloaded',
    )
    const { status } = await accept
    t.match(status, /^(200|400|401|403)$/)
    if (overloaded) t.ok(await eraseAsOperator(ada))
    const [left] = await look(service, 'select count(*)::int as n from memberships where user_id = $1', [
      ada.id,
    ])
    t.equal(left.n, 0)
    const joined = ['tenant.member_added', 'tenant.member_removed', 'identity.user_deleted']
    t.same(await typesAbout(firm.id, ada.id), status === 200 ? joined : [])
    await scrub()
    t.same(await placesOf(service, [email, ...names]), [])
  }
})

t.test('who is to join a tenant while being erased does not join', async (t) => {
  const firm = await foundFirm(service)
  const ada = await service.signUp(named)
  const locked = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const erased = asSystem(service.deps.db, 'an erasure', async (tx) => {
    const person = await lockPersonWithTenants(tx, ada.id)
    locked.resolve()
    await goOn.promise
    const requestInfo = { requestId: 'test', ip: '', userAgent: '', traceparent: null }
    return erasePerson(tx, person!, { by: 'operator', requestInfo, at: service.now() })
  })
  await locked.promise
  const added = firm.owner.post(`${firm.path}/members/`, { user_id: ada.id })
  await untilLocked(service.databases.superuser, [added])
  goOn.resolve()
  t.match(await erased, { tenantsLeft: 0 })
  t.match(await added, { status: 409, body: { code: 'overtaken' } })
  await scrub()
})

t.test('of many erasures of one person at once, one is made', async (t) => {
  const firm = await foundFirm(service)
  const ada = await service.signUp(named)
  await expect(201, firm.owner.post(`${firm.path}/members/`, { user_id: ada.id }))
  const [byOperator, other, ...answers] = await Promise.all([
    eraseAsOperator(ada),
    eraseAsOperator(ada),
    ...Array.from({ length: 4 }, () => erase(ada)),
  ])
  const made = [byOperator, other, ...answers.map(({ status }) => status === 204)].filter(Boolean)
  t.equal(made.length, 1)
  for (const { status } of answers) t.match(status, /^(204|400|401)$/, 'no session, or no password, any more')
  const once = ['tenant.member_added', 'tenant.member_removed', 'identity.user_deleted']
  t.same(await typesAbout(firm.id, ada.id), once)
  t.equal((await look(service, 'select from erasures where user_id = $1', [ada.id])).length, 1)
  await scrub()
})

t.test('a person with many rows is scrubbed in transactions of a thousand', async (t) => {
  const ada = await service.signUp(named)
  const firm = await foundFirm(service)
  await expect(201, firm.owner.post(`${firm.path}/members/`, { user_id: ada.id }))
  await look(
    service,
    `insert into audit_log (tenant_id, id, at, actor_type, actor_id, actor_email, action, target_type, target_id, ip,
                            user_agent, request_id, changes)
     select $1, gen_random_uuid(), timestamptz '2026-11-21' + g / 3 * interval '1 microsecond', 'user', $2, $3, 'test', 'user', $2,
            '10.0.0.1', 'x', 'x', jsonb_build_object('email', $3::text, 'kept', g)
     from generate_series(1, 2500) g`,
    [firm.id, ada.id, ada.email],
  )
  await expect(204, erase(ada))
  await scrub()
  t.same(await placesOf(service, [ada.email]), [])
  const [most] = await look(
    service,
    `select max(n)::int as rows from (select count(*) as n from audit_log where actor_id = $1 and action = 'test'
                                      group by xmin::text) each_transaction`,
    [ada.id],
  )
  t.ok(most.rows <= 1_000, `${most.rows}`)
  const kept = await look(
    service,
    "select from audit_log where actor_id = $1 and action = 'test' and changes ? 'kept' and ip = ''",
    [ada.id],
  )
  t.equal(kept.length, 2_500)
})

t.test('the counters of all tenants are right', async (t) => {
  t.same(await wrongCounts(service), [])
})
