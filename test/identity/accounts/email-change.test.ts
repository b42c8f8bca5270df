import pg from 'pg'
import t from 'tap'
import { type Client, claimsOf, startService, tokenIn } from '../../helpers/service.ts'

const service = await startService(t)
const superuser = new pg.Client({ connectionString: service.databases.superuser })
await superuser.connect()
t.teardown(() => superuser.end())

const minute = 60_000
const post = (path: string, body: unknown) => service.call('POST', `/api/v1/auth/${path}/`, { body })
const confirm = (token: string) => post('email/verify/confirm', { token })
const updates = async (client: Client) =>
  (
    await superuser.query("select from events where type = 'identity.user_updated' and subject = $1", [
      client.id,
    ])
  ).rowCount

t.test(
  'a new address counts at once, unverified, everywhere; the old one is told and its links are dead',
  async (t) => {
    const ada = await service.signUp({ first_name: 'Ada' })
    const { body: tenant } = await ada.post('/api/v1/tenants/', { name: 'Second' })
    const old = tokenIn(await service.mailTo(ada.email, 'Confirm'))
    await post('password/reset', { email: ada.email })
    const reset = tokenIn(await service.mailTo(ada.email, 'Reset'))
    const email = `moved.${ada.email}`
    const answer = await ada.patch('/api/v1/users/me/', { email: ` ${email.toUpperCase()} ` })
    t.match(answer, { status: 200, body: { email, email_verified: false, first_name: 'Ada' } })
    t.match(await service.mailTo(ada.email, 'address was changed'), { text: new RegExp(email) })
    t.match(await confirm(old), { status: 400, body: { code: 'token_invalid' } })
    t.match(await post('password/reset/confirm', { token: reset, password: 'a new harbour' }), {
      status: 400,
    })
    const copies = await superuser.query('select distinct email from memberships where user_id = $1', [
      ada.id,
    ])
    t.same(copies.rows, [{ email }])
    t.equal(await updates(ada), 1)
    await ada.switchTo(tenant.id)
    t.equal(claimsOf(ada.access).email, email)
    t.match((await ada.get(`/api/v1/users/${ada.id}/`)).body, { email })
    t.equal((await confirm(tokenIn(await service.mailTo(email, 'Confirm')))).status, 200)
    t.match((await ada.get('/api/v1/users/me/')).body, { email_verified: true })
    t.equal((await post('login', ada)).status, 401)
    t.equal((await post('login', { ...ada, email })).status, 200)
  },
)

t.test('users/<id> changes the address of oneself, and of nobody else', async (t) => {
  const ada = await service.signUp()
  const bob = await service.signUp()
  const email = `moved.${ada.email}`
  t.match(await ada.put(`/api/v1/users/${ada.id}/`, { email }), { status: 200, body: { id: ada.id, email } })
  t.equal((await ada.put(`/api/v1/users/${bob.id}/`, { email: 'x@example.com' })).status, 403)
  t.match((await bob.get('/api/v1/users/me/')).body, { email: bob.email })
})

t.test(
  'fifteen minutes after the sign-in the password is asked for; an unchanged address asks nothing',
  async (t) => {
    const ada = await service.signUp()
    service.advance(14 * minute)
    const { body } = await post('refresh', { refresh: ada.refresh })
    Object.assign(ada, body)
    service.advance(2 * minute)
    const email = `moved.${ada.email}`
    const refused = await ada.put('/api/v1/users/me/', { email, first_name: 'Changed' })
    t.match(refused, {
      status: 401,
      body: { code: 'insufficient_user_authentication', acr_values: 'aal1', max_age: 900 },
    })
    t.match(refused.headers.get('www-authenticate'), 'error="insufficient_user_authentication"')
    t.match((await ada.get('/api/v1/users/me/')).body, { email: ada.email, first_name: 'Test' })
    t.match(await ada.put('/api/v1/users/me/', { email, current_password: 'not this one' }), {
      status: 400,
      body: { current_password: [String] },
    })
    const same = await ada.put('/api/v1/users/me/', { email: ada.email.toUpperCase(), first_name: 'Changed' })
    t.match(same, { status: 200, body: { email: ada.email, first_name: 'Changed' } })
    t.equal(await updates(ada), 1)
    t.equal((await ada.put('/api/v1/users/me/', { email: ada.email, first_name: 'Changed' })).status, 200)
    t.equal(await updates(ada), 1, 'nothing changed, no event')
    t.match(await ada.put('/api/v1/users/me/', { email, current_password: ada.password }), {
      status: 200,
      body: { email },
    })
  },
)

t.test('an address of somebody else is refused and nothing of the change is kept', async (t) => {
  const ada = await service.signUp()
  const bob = await service.signUp()
  const taken = await ada.patch('/api/v1/users/me/', { email: bob.email.toUpperCase(), first_name: 'New' })
  t.match(taken, { status: 400, body: { email: [String], errors: [{ field: 'email', code: 'taken' }] } })
  t.match((await ada.get('/api/v1/users/me/')).body, { email: ada.email, first_name: 'Test' })
  const both = await Promise.all(
    [ada, bob].map((client) => client.patch('/api/v1/users/me/', { email: 'wanted.by.two@example.com' })),
  )
  t.same(both.map((answer) => answer.status).sort(), [200, 400])
})

t.test('a change of names at the same time does not bring the old address back', async (t) => {
  for (let round = 0; round < 10; round++) {
    const ada = await service.signUp()
    const email = `moved.${ada.email}`
    const answers = await Promise.all([
      ada.patch('/api/v1/users/me/', { email }),
      ada.patch('/api/v1/users/me/', { first_name: 'Other' }),
      ada.put('/api/v1/users/me/', { last_name: 'Name' }),
    ])
    t.same(
      answers.map((answer) => answer.status),
      [200, 200, 200],
    )
    t.match((await ada.get('/api/v1/users/me/')).body, { email, first_name: 'Other', last_name: 'Name' })
  }
})

t.test('fields that are nobody’s to write are ignored', async (t) => {
  const ada = await service.signUp()
  await ada.patch('/api/v1/users/me/', {
    id: '00000000-0000-7000-8000-000000000000',
    is_active: false,
    email_verified: true,
    password_hash: 'x',
    roles: ['owner'],
    first_name: 'Still',
  })
  t.match((await ada.get('/api/v1/users/me/')).body, {
    id: ada.id,
    is_active: true,
    email_verified: false,
    first_name: 'Still',
  })
  t.equal((await post('login', ada)).status, 200)
})
