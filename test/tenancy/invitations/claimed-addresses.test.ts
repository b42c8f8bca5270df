import t from 'tap'
import { proveAddress } from '../../helpers/prove-address.ts'
import { type Client, tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { eventsOf, expect, foundFirm } from '../staff.ts'

// A member can claim an address that is not theirs. An invitation to it is for the reader of its mailbox.

const service = await sharedService(t)
const firm = await foundFirm(service)
const path = `${firm.path}/invitations/`
const me = '/api/v1/users/me/'
const post = (path: string, body: unknown) => service.call('POST', `/api/v1/auth/${path}/`, { body })
const invite = (email: string, ...roles: string[]) => firm.owner.post(path, { email, roles })
const tokenTo = async ({ email }: { email: string }) => tokenIn(await service.mailTo(email, 'invited'))
const accept = (token: string, by: Client) => by.post('/api/v1/invitations/accept/', { token })
const status = async (id: string) => (await expect(200, firm.owner.get(`${path}${id}/`))).status
const password = 'another quiet harbour'

t.test('the reader of a mailbox that a member only claims accepts, and gets the invited roles', async (t) => {
  const squatter = await firm.hire('member')
  await expect(201, invite(squatter.email, 'auditor'))
  const token = await tokenTo(squatter)
  t.match(await service.call('POST', '/api/v1/invitations/accept/', { body: { token } }), {
    status: 401,
    body: { code: 'not_authenticated' },
  })
  await expect(200, post('password/reset', { email: squatter.email }))
  const reset = tokenIn(await service.mailTo(squatter.email, 'Reset'))
  await expect(200, post('password/reset/confirm', { token: reset, password }))
  t.equal((await accept(token, squatter)).status, 401, 'the squatter is out')
  const reader = await service.logIn({ ...squatter, password })
  const joined = await expect(200, accept(token, reader))
  t.match(joined.member, { id: squatter.memberId, user_id: squatter.id })
  t.same(joined.member.roles.toSorted(), ['auditor', 'member'])
  t.match(await accept(token, reader), { status: 400, body: { code: 'invitation_invalid' } })
  t.same((await eventsOf(service, firm.id, 'tenant.')).slice(-2), [
    'tenant.invitation_accepted',
    'tenant.member_updated',
  ])
})

t.test('a member who has not confirmed their own address yet accepts, which proves it', async (t) => {
  const member = await firm.hire('member')
  const department = await expect(201, firm.owner.post(`${firm.path}/departments/`, { name: 'Mill' }))
  const invitation = { email: member.email, roles: ['auditor'], department_id: department.id }
  await expect(201, firm.owner.post(path, invitation))
  const { member: joined } = await expect(200, accept(await tokenTo(member), member))
  t.match(joined, { id: member.memberId, department_id: department.id })
  t.match((await member.get(me)).body, { email_verified: true })
  t.match(await invite(member.email, 'member'), { status: 409, body: { code: 'already_member' } })
})

t.test(
  'an invitation gives nothing to a suspended member, or to one who joined in another way since',
  async (t) => {
    const suspended = await firm.hire('member')
    await expect(200, firm.owner.put(`${firm.path}/members/${suspended.memberId}/`, { status: 'suspended' }))
    await expect(201, invite(suspended.email, 'auditor'))
    const added = await service.signUp()
    await expect(201, invite(added.email, 'admin'))
    service.advance(1_000)
    await expect(201, firm.owner.post(`${firm.path}/members/`, { user_id: added.id }))
    for (const member of [suspended, added])
      t.match(await accept(await tokenTo(member), member), { status: 409, body: { code: 'already_member' } })
  },
)

t.test('a member who leaves takes an invitation along only if they proved its address', async (t) => {
  for (const proves of [false, true]) {
    const member = await firm.hire('member')
    const { id } = await expect(201, invite(member.email, 'member'))
    if (proves) await proveAddress(service, member)
    await expect(204, member.delete(`${firm.path}/members/${member.memberId}/`))
    t.equal(await status(id), proves ? 'cancelled' : 'pending')
  }
})
