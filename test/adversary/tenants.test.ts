import t from 'tap'
import { policyInput } from '../../src/policy-engine/evaluate/query.ts'
import { startService, tokenIn } from '../helpers/service.ts'
import { question } from '../policies/stage.ts'
import { expect, foundFirm } from '../tenancy/staff.ts'

const service = await startService(t, {
  env: { RATE_LIMIT_ENABLED: 'true', RATE_LIMIT_REGISTER_PER_HOUR: '1000', RATE_LIMIT_PER_USER: '40' },
})

t.test('a tenant cannot be used to flood an address with mail', async (t) => {
  const { owner, path } = await foundFirm(service)
  const email = 'victim@example.com'
  const invitation = await expect(201, owner.post(`${path}/invitations/`, { email }))
  const again = () => owner.post(`${path}/invitations/${invitation.id}/resend/`)
  const statuses: number[] = []
  for (let sent = 0; sent < 5; sent++) statuses.push((await again()).status)
  t.same(statuses, [200, 200, 429, 429, 429])
  await owner.post(`${path}/invitations/${invitation.id}/cancel/`)
  t.match(await owner.post(`${path}/invitations/`, { email }), { status: 429, body: { code: 'throttled' } })
  const other = await foundFirm(service)
  t.equal(
    (await other.owner.post(`${other.path}/invitations/`, { email })).status,
    201,
    'or keep others from it',
  )
})

t.test('a tenant cannot flood an address with mail by adding a member again and again', async (t) => {
  const { owner, path } = await foundFirm(service)
  const guest = await service.signUp()
  const statuses: number[] = []
  for (let round = 0; round < 5; round++) {
    const { status, body } = await owner.post(`${path}/members/`, { user_id: guest.id })
    statuses.push(status)
    if (status === 201) await owner.delete(`${path}/members/${body.id}/`)
  }
  t.same(statuses, [201, 201, 201, 429, 429])
})

t.test('a removed member cannot return by an unused invitation', async (t) => {
  const { owner, path } = await foundFirm(service)
  const guest = await service.signUp()
  await expect(201, owner.post(`${path}/invitations/`, { email: guest.email, role: 'admin' }))
  const token = tokenIn(await service.mailTo(guest.email, 'invited'))
  const { id } = await expect(201, owner.post(`${path}/members/`, { user_id: guest.id }))
  await expect(204, owner.delete(`${path}/members/${id}/`))
  t.match(await guest.post('/api/v1/invitations/accept/', { token }), {
    status: 400,
    body: { code: 'invitation_invalid' },
  })
})

t.test('the token of an ended session does not use up the calls of its owner', async (t) => {
  const ada = await service.signUp()
  const thief = await service.logIn(ada)
  await ada.post('/api/v1/auth/logout-all/')
  for (let n = 0; n < 40; n++) await thief.get('/api/v1/users/me/')
  const again = await service.logIn(ada)
  t.equal((await again.get('/api/v1/users/me/')).status, 200)
})

t.test('a user cannot get so many permissions that their requests delay others', async (t) => {
  const { owner, path } = await foundFirm(service)
  const roles = Array.from({ length: 33 }, (_, n) => `role ${n}`)
  const { body } = await owner.get(`${path}/members/`)
  const member = `${path}/members/${body.results[0].id}/`
  t.match(await owner.put(member, { roles }), { status: 400, body: { roles: [/32/] } })
  const query = question([])
  query.subject.membership = {
    ...query.subject.membership!,
    permissions: ['doc:write', 'doc:read', 'doc:*', 'docs:*', 'do:read'],
  }
  t.same(
    policyInput(query).subject.membership?.permissions,
    ['doc:read', 'doc:*'],
    'only permissions that can match',
  )
})
