import pg from 'pg'
import t from 'tap'
import { deleteOutdated } from '../../../workers/retention.ts'
import { type Service, startService, tokenIn } from '../../helpers/service.ts'
import { expect, foundFirm, look } from '../../tenancy/staff.ts'

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
  for (const { name, field } of columns)
    for (const text of texts) {
      const { rows } = await client.query(
        `select count(*)::int as n from ${name} where strpos(lower(${field}::text), $1) > 0`,
        [text],
      )
      if (rows[0].n > 0) found.push(`${name}.${field}: ${text}`)
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
  await expect(201, firm.owner.post(`${firm.path}/members/`, { user_id: ada.id, attributes: {} }))
  await ada.switchTo(firm.id)
  const denied = await ada.post(`${firm.path}/departments/`, { name: 'No' })
  t.equal(denied.status, 403)
  for (const id of [ada.id, email]) {
    const question = {
      subject: { type: 'user', id },
      action: { name: 'read' },
      resource: { type: 'doc', id: '1' },
    }
    await expect(200, firm.owner.post('/access/v1/evaluation', question))
  }
  const other = await foundFirm(service)
  await expect(201, other.owner.post(`${other.path}/invitations/`, { email, roles: ['member'] }))
  t.not((await placesOf(service, [email, ...names])).length, 0)

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
  t.same(await placesOf(service, [email, ...names]), [])
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
