import t from 'tap'
import { startService } from '../../helpers/service.ts'
import { env, throttled } from '../../identity/guards/limits-logins.ts'
import { type Firm, foundFirm, look } from '../staff.ts'

// Whoever may invite could fill anybody's mailbox: an address is sent three mails a minute, whoever asks for them.

t.setTimeout(120_000)
const service = await startService(t, { env, workers: false })
const firm = await foundFirm(service)
const invite = ({ owner, path }: Firm, email: string, more: object = {}) =>
  owner.post(`${path}/invitations/`, { email, ...more })
const invitationsMailed = async () =>
  (await look(service, "select 1 from mails where template = 'invitation'")).length

t.test('an invitation and its resending are mails to its address', async (t) => {
  const email = 'wanted@example.com'
  const { body: invitation } = await invite(firm, email)
  const resend = () => firm.owner.post(`${firm.path}/invitations/${invitation.id}/resend/`)
  for (let n = 0; n < 2; n++) t.equal((await resend()).status, 200)
  const refused = await resend()
  t.match(refused, throttled)
  t.equal(refused.headers.get('ratelimit-policy'), '"mail-minute";q=3;w=60')
  const kept = await firm.owner.get(`${firm.path}/invitations/${invitation.id}/`)
  t.match(kept.body, { send_count: 3 }, 'the token that was sent last still is the one')
  t.match(await service.call('POST', '/api/v1/auth/password/reset/', { body: { email } }), throttled)

  const rival = await foundFirm(service)
  t.match(await invite(rival, email.toUpperCase()), throttled, 'from any tenant')
  t.match((await rival.owner.get(`${rival.path}/invitations/`)).body, { count: 0 })
  t.equal(await invitationsMailed(), 3, 'nothing was sent')
})

t.test('what is refused for another reason counts for nothing', async (t) => {
  const email = 'refused@example.com'
  for (let n = 0; n < 4; n++) t.equal((await invite(firm, email, { roles: ['nobody'] })).status, 400)
  t.equal((await invite(firm, email)).status, 201)
  for (let n = 0; n < 4; n++) t.equal((await invite(firm, email)).status, 409)
})

t.test('so is being added to a tenant', async (t) => {
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
