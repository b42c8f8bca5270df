import t from 'tap'
import { claimsOf, startService, tokenIn } from '../../helpers/service.ts'
import { codeAt, codeIn, requireMfa } from '../../identity/otp/authenticator.ts'
import { expect, foundFirm } from '../staff.ts'

t.setTimeout(120_000)
const service = await startService(t)
const firm = await foundFirm(service)
const accept = '/api/v1/invitations/accept/'
const password = 'a quiet harbour'

async function invited(email: string): Promise<string> {
  await expect(201, firm.owner.post(`${firm.path}/invitations/`, { email }))
  return tokenIn(await service.mailTo(email, 'invited'))
}

t.test('a newcomer to a tenant that requires a second factor joins, and enters with one', async (t) => {
  const tokens = [await invited('app@example.com'), await invited('mail@example.com')]
  await requireMfa(service, firm.id)
  const [app, mail] = await Promise.all(
    tokens.map((token) =>
      expect(200, service.call('POST', accept, { body: { token, password, first_name: 'New' } })),
    ),
  )
  for (const joined of [app, mail]) {
    t.match(joined, {
      tenant: { id: firm.id },
      member: { roles: ['member'] },
      otp_required: true,
      expires_in: 300,
      methods: ['email'],
    })
    t.notOk('access' in joined || 'refresh' in joined, 'a password is not enough here')
    t.match(claimsOf(joined.temporary_token), { token_type: 'otp_pending', tenant_id: firm.id })
    const token = joined.temporary_token
    t.match(await service.call('GET', `${firm.path}/members/`, { token }), {
      status: 401,
      body: { code: 'otp_required' },
    })
  }

  const otp = (step: string, token: string, body: object = {}) =>
    expect(200, service.call('POST', `/api/v1/auth/otp/${step}/`, { token, body }))
  const { secret } = await otp('totp/setup', app.temporary_token)
  const byApp = await otp('totp/confirm', app.temporary_token, { code: codeAt(secret, service.now()) })
  await otp('email/send', mail.temporary_token)
  const code = codeIn(await service.mailTo('mail@example.com', 'code'))
  const byMail = await otp('verify', mail.temporary_token, { code })
  for (const { access } of [byApp, byMail]) {
    t.match(claimsOf(access), { acr: 'aal2', tenant_id: firm.id, roles: ['member'] })
    t.equal((await service.call('GET', `${firm.path}/members/`, { token: access })).status, 200)
  }
})

t.test('whoever has an account is told to log in, and the link stays good', async (t) => {
  await requireMfa(service, firm.id, false)
  const person = await service.signUp()
  const token = await invited(person.email)
  const refused = await service.call('POST', accept, { body: { token, password } })
  t.match(refused, { status: 401, body: { code: 'not_authenticated', detail: /log in with it, then send/ } })
  t.match(await person.post(accept, { token }), { status: 200, body: { tenant: { id: firm.id } } })
})
