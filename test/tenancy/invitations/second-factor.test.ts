import t from 'tap'
import { claimsOf, tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { codeIn, requireMfa } from '../../identity/otp/authenticator.ts'
import { expect, foundFirm } from '../staff.ts'

const service = await sharedService(t)
const firm = await foundFirm(service)
const accept = '/api/v1/invitations/accept/'
const password = 'a quiet harbour'

async function invited(email: string): Promise<string> {
  await expect(201, firm.owner.post(`${firm.path}/invitations/`, { email }))
  return tokenIn(await service.mailTo(email, 'invited'))
}

t.test('a new member of a tenant that requires a second factor joins, and enters with one', async (t) => {
  const email = 'newcomer@example.com'
  const token = await invited(email)
  await requireMfa(service, firm.id)
  const body = { token, password, first_name: 'New' }
  const joined = await expect(200, service.call('POST', accept, { body }))
  t.match(joined, {
    tenant: { id: firm.id },
    member: { roles: ['member'] },
    otp_required: true,
    expires_in: 300,
    methods: ['email'],
  })
  t.notOk('access' in joined || 'refresh' in joined, 'a password is not enough here')
  const temporary = joined.temporary_token
  t.match(claimsOf(temporary), { token_type: 'otp_pending', tenant_id: firm.id })
  t.match(await service.call('GET', `${firm.path}/members/`, { token: temporary }), {
    status: 401,
    body: { code: 'otp_required' },
  })

  const otp = (step: string, body: object = {}) =>
    expect(200, service.call('POST', `/api/v1/auth/otp/${step}/`, { token: temporary, body }))
  await otp('email/send')
  const code = codeIn(await service.mailTo(email, 'sign-in code'))
  const { access } = await otp('verify', { code })
  t.match(claimsOf(access), {
    acr: 'aal2',
    amr: ['pwd', 'email', 'mfa'],
    tenant_id: firm.id,
    roles: ['member'],
  })
  t.equal((await service.call('GET', `${firm.path}/members/`, { token: access })).status, 200)
})

t.test('a person with an account is asked to log in, and the link stays valid', async (t) => {
  await requireMfa(service, firm.id, false)
  const person = await service.signUp()
  const token = await invited(person.email)
  const refused = await service.call('POST', accept, { body: { token, password } })
  t.match(refused, { status: 401, body: { code: 'not_authenticated', detail: /sign in to it, then send/ } })
  t.match(await person.post(accept, { token }), { status: 200, body: { tenant: { id: firm.id } } })
})
