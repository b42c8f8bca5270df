import t from 'tap'
import { deleteOutdated } from '../../../workers/retention.ts'
import { ask, newBody, openOffice } from '../../authorization/approvals/office.ts'
import { type Client, startService, tokenIn } from '../../helpers/service.ts'
import { eventsOf, expect, look } from '../../tenancy/staff.ts'
import { enrol, longProven } from '../otp/authenticator.ts'

const service = await startService(t)
const me = '/api/v1/users/me/'
const erase = (who: Client) => who.delete(me, { body: { current_password: who.password } })
const confirm = async (email: string) =>
  expect(
    200,
    service.call('POST', '/api/v1/auth/email/verify/confirm/', {
      body: { token: tokenIn(await service.mailTo(email, 'Confirm')) },
    }),
  )
const scrub = async () => {
  service.advance(120_000)
  await deleteOutdated(service.worker!)
}

/** An invitation to an address, a decision about it, and an approval request that names it; gives what is left of them. */
async function traces(email: string, open = openOffice(service)) {
  const office = await open
  const { owner, asker } = office
  const { tenantId } = owner
  await expect(201, owner.post(`/api/v1/tenants/${tenantId}/invitations/`, { email, roles: ['member'] }))
  await service.mailTo(email, 'invited')
  const question = {
    subject: { type: 'user', id: email },
    action: { name: 'read' },
    resource: { type: 'doc', id: '1' },
  }
  await expect(200, owner.post('/access/v1/evaluation', question))
  const request = await ask(office, asker, { ...newBody(), name: `Room of ${email}` })
  return async () => {
    const [row] = await look(
      service,
      `select (select count(*)::int from invitations where tenant_id = $1 and email = $2) as invitations,
              (select count(*)::int from decisions
               where tenant_id = $1 and subject_id = $2 and not facts ? 'cut') as decisions,
              (select count(*)::int from approval_requests
               where id = $3 and strpos(context::text, $2) > 0 and requester_email <> '') as approvals`,
      [tenantId, email, request],
    )
    const cancelled = (await eventsOf(service, tenantId)).includes('tenant.invitation_cancelled')
    return { ...row, cancelled }
  }
}
const untouched = { invitations: 1, decisions: 1, approvals: 1, cancelled: false }
const gone = { invitations: 0, decisions: 0, approvals: 0, cancelled: true }

t.test('erasing an account leaves what names an address that it claimed without proving it', async (t) => {
  const [made, moved] = ['claimed.one@corp.example', 'claimed.two@corp.example']
  const seen = [await traces(made), await traces(moved)]
  await expect(204, erase(await service.signUp({ email: made })))
  const other = await service.logIn(await longProven(service))
  await expect(200, other.patch(me, { email: moved }))
  await expect(204, erase(other))
  await scrub()
  for (const see of seen) t.same(await see(), untouched)
})

t.test(
  'it reaches every address that the account ever proved, and no longer address that ends alike',
  async (t) => {
    const person = await service.logIn(await longProven(service))
    const [first, second] = [person.email, `second.${person.email}`]
    const office = openOffice(service)
    const seen = [await traces(first, office), await traces(second)]
    const near = await traces(`x${first}`, office)
    await expect(200, person.patch(me, { email: second }))
    await confirm(second)
    await expect(200, person.patch(me, { email: `third.${first}` }))
    await expect(204, erase(person))
    await scrub()
    for (const see of seen) t.same(await see(), gone)
    t.same(await near(), { ...untouched, cancelled: true }, 'the other invitation was cancelled')
  },
)

t.test('an address that another account proved since is left', async (t) => {
  const person = await service.logIn(await longProven(service))
  const { email } = person
  await expect(200, person.patch(me, { email: `moved.${email}` }))
  const heir = await service.signUp({ email })
  await service.mailTo(email, 'Confirm')
  t.match(
    await look(service, 'update users set email_verified_at = now() where id = $1 returning id', [heir.id]),
    [{ id: heir.id }],
  )
  const see = await traces(email)
  await expect(204, erase(person))
  await scrub()
  t.same(await see(), untouched)
})

t.test('with MFA on, erasing oneself takes a fresh second factor besides the password', async (t) => {
  const person = await service.signUp()
  await enrol(service, person)
  service.advance(11 * 60_000)
  const asked = await erase(person)
  t.match(asked, { status: 401, body: { code: 'insufficient_user_authentication', acr_values: 'aal2' } })
  t.equal((await person.get(me)).status, 200)
})
