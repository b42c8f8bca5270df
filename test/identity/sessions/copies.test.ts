import t from 'tap'
import type { Client } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { expect } from '../../tenancy/staff.ts'
import { changeRows, codeIn, longProven } from '../otp/authenticator.ts'

// What a copy of an access token is worth to a thief: applications see access tokens, so one can be copied.

const service = await sharedService(t)
const { call } = service
const me = '/api/v1/users/me/'
const otp = '/api/v1/auth/otp'
const revoked = { status: 401, body: { code: 'session_revoked' } }
const refresh = (refresh: string) => call('POST', '/api/v1/auth/refresh/', { body: { refresh } })
const read = (token: string) => call('GET', me, { token })

/** A chain that a copy of the client's access token begins. */
const copyOf = async (client: Client) =>
  expect(200, client.post('/api/v1/auth/switch-tenant/', { tenant_id: client.tenantId }))
const changePassword = (client: Client) =>
  expect(
    200,
    client.post('/api/v1/auth/password/change/', {
      current_password: client.password,
      new_password: 'another quiet harbour',
    }),
  )

t.test('a changed password ends the chains that copies of an access token began', async (t) => {
  const owner = await service.signUp()
  const copy = await copyOf(owner)
  const second = await expect(201, owner.post('/api/v1/tenants/', { name: 'Second' }))
  const lasting = await expect(
    200,
    owner.post('/api/v1/auth/switch-tenant/', { tenant_id: second.id, refresh: owner.refresh }),
  )
  service.advance(1_000)
  await changePassword(owner)
  for (const pair of [copy, lasting]) {
    t.match(await read(pair.access), revoked)
    t.match(await refresh(pair.refresh), revoked)
  }
  t.equal((await read(owner.access)).status, 200, 'the chain that changed it goes on')
  const stolen = owner.access
  Object.assign(owner, await expect(200, refresh(owner.refresh)))
  const begin = (token: string, more = {}) =>
    call('POST', '/api/v1/auth/switch-tenant/', { token, body: { tenant_id: owner.tenantId, ...more } })
  t.match(
    await begin(stolen),
    { status: 401, body: { code: 'token_not_valid' } },
    'an earlier copy begins none',
  )
  t.equal((await begin(stolen, { refresh: owner.refresh })).status, 200, 'the owner shows the refresh token')
  service.advance(1_000)
  Object.assign(owner, await expect(200, refresh(owner.refresh)))
  t.equal((await begin(owner.access)).status, 200, 'nor is a later access token limited')
})

t.test('a code that the owner shows does not prove a factor that another chain enrolled', async (t) => {
  const owner = await service.logIn(await longProven(service))
  const { access: thief } = await copyOf(owner)
  const showMailed = async (token: string) => {
    await changeRows(
      service,
      `delete from captured_mails where recipient = '${owner.email}' and subject ~ 'sign-in code'`,
    )
    await expect(200, call('POST', `${otp}/email/send/`, { token }))
    const code = codeIn(await service.mailTo(owner.email, 'sign-in code'))
    return expect(200, call('POST', `${otp}/verify/`, { token, body: { code } }))
  }
  await expect(200, call('POST', `${otp}/static/generate/`, { token: thief, body: {} }))
  const countsFrom = async () =>
    (await expect(200, owner.get(`${otp}/devices/`))).results.find(
      ({ type }: { type: string }) => type === 'static',
    ).counts_from
  await showMailed(owner.access)
  t.type(await countsFrom(), 'string')
  await showMailed(thief)
  t.equal(await countsFrom(), null, 'its own chain can')
})
