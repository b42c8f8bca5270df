import t from 'tap'
import { ask, cancel, openOffice } from '../../authorization/approvals/office.ts'
import { type Answer, startService } from '../../helpers/service.ts'
import { env, throttled } from '../../identity/rate-limits/limits-logins.ts'
import { type Firm, foundFirm, look } from '../staff.ts'

// Inviting could be misused to flood a mailbox: an address receives at most three mails a minute from a tenant.

const service = await startService(t, {
  env: {
    ...env,
    RATE_LIMIT_REGISTER_PER_HOUR: '100',
    RATE_LIMIT_STRANGERS_PER_PERSON: '4',
    RATE_LIMIT_STRANGERS_PER_TENANT: '6',
    RATE_LIMIT_STRANGERS_PER_ADDRESS: '8',
    RATE_LIMIT_APPROVAL_MAILS_PER_HOUR: '3',
    RATE_LIMIT_INVITATION_MAIL_PER_HOUR: '12',
  },
  workers: false,
})
const firm = await foundFirm(service)
const invite = ({ owner, path }: Firm, email: string, more: object = {}) =>
  owner.post(`${path}/invitations/`, { email, ...more })
const invitationsMailed = async () =>
  (await look(service, "select 1 from mails where template = 'invitation'")).length

t.test('invitations and their resends count as mails to the address', async (t) => {
  const email = 'wanted@example.com'
  const { body: invitation } = await invite(firm, email)
  const resend = () => firm.owner.post(`${firm.path}/invitations/${invitation.id}/resend/`)
  for (let n = 0; n < 2; n++) t.equal((await resend()).status, 200)
  const refused = await resend()
  t.match(refused, throttled)
  t.equal(refused.headers.get('ratelimit-policy'), '"mail-minute";q=3;w=60')
  const kept = await firm.owner.get(`${firm.path}/invitations/${invitation.id}/`)
  t.match(kept.body, { send_count: 3 }, 'the last token that was sent is still valid')
  const reset = await service.call('POST', '/api/v1/auth/password/reset/', { body: { email } })
  t.equal(reset.status, 200, 'mails that the owner of the address requests have a limit of their own')

  const rival = await foundFirm(service)
  t.equal(await invitationsMailed(), 3, 'nothing was sent')
  t.equal((await invite(rival, email.toUpperCase())).status, 201, 'another tenant can still invite them')
})

t.test('a request that is refused for another reason does not count', async (t) => {
  const email = 'refused@example.com'
  for (let n = 0; n < 4; n++) t.equal((await invite(firm, email, { roles: ['nobody'] })).status, 400)
  t.equal((await invite(firm, email)).status, 201)
  for (let n = 0; n < 4; n++) t.equal((await invite(firm, email)).status, 409)
})

t.test('adding a person to a tenant counts too', async (t) => {
  const person = await service.register()
  const add = () => firm.owner.post(`${firm.path}/members/`, { user_id: person.id })
  for (let n = 0; n < 3; n++) {
    const { status, body } = await add()
    t.equal(status, 201)
    await firm.owner.delete(`${firm.path}/members/${body.id}/`)
  }
  t.match(await add(), throttled)
  t.match((await firm.owner.get(`${firm.path}/members/`)).body, { count: 1 })
})

const dayMs = 24 * 3_600_000
const policyOf = (answer: Answer) => answer.headers.get('ratelimit-policy')
let strangers = 0
const stranger = () => `stranger${++strangers}@example.com`

t.test(
  'mails to people outside the tenant are limited per day by caller, tenant and IP address',
  async (t) => {
    service.advance(2 * dayMs)
    const firm = await foundFirm(service)
    const deputy = await firm.hire('owner') // 1 of the owner's 4
    const invited = stranger()
    const { body: invitation } = await invite(firm, invited) // 2
    t.equal((await firm.owner.post(`${firm.path}/invitations/${invitation.id}/resend/`)).status, 200)
    t.match(await invite(firm, invited.toUpperCase()), { status: 409 }, 'the same address counts once')
    for (let n = 0; n < 2; n++) t.equal((await invite(firm, stranger())).status, 201)
    const refused = await invite(firm, stranger())
    t.match(refused, throttled)
    t.equal(policyOf(refused), '"strangers-person";q=4;w=86400')
    t.equal(refused.headers.get('retry-after'), '86400')
    const { id: user_id } = await service.register()
    t.match(await firm.owner.post(`${firm.path}/members/`, { user_id }), throttled)
    t.match(await firm.owner.patch('/api/v1/users/me/', { email: stranger() }), throttled)
    t.equal((await firm.owner.post(`${firm.path}/invitations/${invitation.id}/resend/`)).status, 200)

    const byDeputy = () => invite({ ...firm, owner: deputy }, stranger())
    for (let n = 0; n < 2; n++) t.equal((await byDeputy()).status, 201)
    t.equal(policyOf(await byDeputy()), '"strangers-tenant";q=6;w=86400')

    const elsewhere = await foundFirm(service)
    for (let n = 0; n < 2; n++) t.equal((await invite(elsewhere, stranger())).status, 201)
    t.equal(policyOf(await invite(elsewhere, stranger())), '"strangers-address";q=8;w=86400')
    const from = { headers: { 'x-forwarded-for': '198.51.100.9' } }
    const there = { email: stranger() }
    t.equal((await elsewhere.owner.post(`${elsewhere.path}/invitations/`, there, from)).status, 201)

    service.advance(dayMs)
    const owner = await service.logIn(firm.owner)
    await owner.switchTo(firm.id)
    t.equal((await invite({ ...firm, owner }, stranger())).status, 201, 'the next day')
  },
)

t.test(
  'an approver gets one mail an hour about the same call, and a limited number about the calls of one person',
  async (t) => {
    const office = await openOffice(service)
    const { asker, owner } = office
    const mailed = async () =>
      (
        await look(
          service,
          "select count(*)::int as mails from mails where tenant_id = $1 and template = 'approval_requested'",
          [owner.tenantId],
        )
      )[0].mails / 2 // the owner and the other admin
    const again = async (name: string) => cancel(asker, await ask(office, asker, { name }))
    for (let n = 0; n < 3; n++) t.match(await again('Legal'), { body: { status: 'cancelled' } })
    t.equal(await mailed(), 1, 'withdrawing and asking again sends no further mail')
    for (let n = 0; n < 3; n++) await again(`Desk ${n}`)
    t.equal(await mailed(), 3)
    const id = await ask(office, asker, { name: 'Last' })
    t.match((await owner.get('/api/v1/approval-requests/pending/')).body, { results: [{ id }] }, 'it waits')
    t.equal(await mailed(), 3)
  },
)

t.test('a stranger with many tenants does not use up what an address gets from all', async (t) => {
  service.advance(dayMs)
  const email = 'wanted.by.many@example.com'
  const from = (ip: string) => ({ headers: { 'x-forwarded-for': ip } })
  const [stranger, elsewhere] = [from('198.51.100.30'), from('198.51.100.31')]
  const mailFrom = async ({ owner, path }: Firm, caller: object) => {
    const { results } = (await owner.get(`${path}/invitations/`)).body
    const to = results.length === 0 ? 'invitations/' : `invitations/${results[0].id}/resend/`
    return owner.post(`${path}/${to}`, results.length === 0 ? { email } : undefined, caller)
  }
  const firms = await Promise.all([1, 2, 3, 4, 5].map(() => foundFirm(service)))
  const [last, other] = firms.slice(3) as [Firm, Firm]
  for (const firm of firms.slice(0, 3))
    for (let n = 0; n < 3; n++) t.ok((await mailFrom(firm, stranger)).status < 300)
  t.equal((await mailFrom(last, stranger)).status, 201)
  const refused = await mailFrom(last, stranger)
  t.match(refused, throttled, 'ten mails from one address of callers')
  t.equal(refused.headers.get('ratelimit-policy'), '"mail-hour";q=10;w=3600')
  t.equal((await mailFrom(other, elsewhere)).status, 201, 'another sender is not kept from it')
  t.equal((await mailFrom(last, elsewhere)).status, 200)
  const beyond = await mailFrom(other, elsewhere)
  t.equal(beyond.headers.get('ratelimit-policy'), '"invitation-total";q=12;w=3600', 'the total is bounded')
})
