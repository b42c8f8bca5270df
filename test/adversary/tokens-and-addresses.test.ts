import t from 'tap'
import { startService, tokenIn } from '../helpers/service.ts'
import { attemptLogin, changeRows, codeAt, codeIn, enrol, requireMfa } from '../identity/otp/authenticator.ts'
import { expect, foundFirm } from '../tenancy/staff.ts'

const service = await startService(t, { env: { RATE_LIMIT_ENABLED: 'false' } })
const api = '/api/v1'
const post = (path: string, body: unknown, token?: string) =>
  service.call('POST', `${api}/${path}/`, { body, token })

t.test(
  'tokens, links and codes stop working in the millisecond in which they expire; an access token works 5 s longer',
  async (t) => {
    const { owner, path } = await foundFirm(service)
    const dead = async (
      what: string,
      ms: number,
      status: number,
      code: string,
      late: () => Promise<{ status: number; body: { code?: string } }>,
    ) => {
      service.advance(ms)
      const answer = await late()
      t.match({ what, status: answer.status, code: answer.body.code }, { what, status, code })
    }
    const ada = await service.signUp()
    const link = tokenIn(await service.mailTo(ada.email, 'Confirm'))
    await post('auth/password/reset', { email: ada.email })
    const reset = tokenIn(await service.mailTo(ada.email, 'Reset'))
    await expect(201, owner.post(`${path}/invitations/`, { email: 'late@example.com' }))
    const invitation = tokenIn(await service.mailTo('late@example.com', 'invited'))
    await ada.post(`${api}/auth/otp/email/send/`)
    const code = codeIn(await service.mailTo(ada.email, 'sign-in code'))
    const start = service.now()
    const until = (ms: number) => start + ms - service.now()
    await dead('a code', until(300_000), 400, 'otp_invalid', () =>
      ada.post(`${api}/auth/otp/verify/`, { code }),
    )
    await dead('an access token', until(905_000), 401, 'token_not_valid', () => ada.get(`${api}/users/me/`))
    await dead('a reset', until(3_600_000), 400, 'token_expired', () =>
      post('auth/password/reset/confirm', { token: reset, password: 'another harbour' }),
    )
    await dead('a verification', until(86_400_000), 400, 'token_expired', () =>
      post('auth/email/verify/confirm', { token: link }),
    )
    await dead('an invitation', until(7 * 86_400_000), 400, 'invitation_expired', () =>
      post('invitations/accept', { token: invitation, password: 'a quiet harbour' }),
    )
    await dead('a refresh token', 0, 401, 'token_not_valid', () =>
      post('auth/refresh', { refresh: ada.refresh }),
    )
  },
)

t.test(
  'a person who registers the address of another one gets neither their invitation nor their account',
  async (t) => {
    const { owner, path } = await foundFirm(service)
    const squatter = await service.signUp({ email: 'victim@example.com' })
    await expect(201, owner.post(`${path}/invitations/`, { email: 'victim@example.com', role: 'admin' }))
    const token = tokenIn(await service.mailTo('victim@example.com', 'invited'))
    t.equal((await squatter.get(`${api}/users/me/invitations/`)).body.count, 0, 'unverified')
    t.match(
      await post('invitations/accept', { token, password: 'their own words' }),
      { status: 401 },
      'no second account',
    )
    await post('auth/password/reset', { email: 'victim@example.com' })
    const reset = tokenIn(await service.mailTo('victim@example.com', 'Reset'))
    t.equal(
      (await post('auth/password/reset/confirm', { token: reset, password: 'their own words' })).status,
      200,
    )
    t.match(await squatter.get(`${api}/users/me/`), { status: 401, body: { code: 'session_revoked' } })
    t.equal((await post('auth/refresh', { refresh: squatter.refresh })).status, 401)
    const victim = await service.logIn({ email: 'victim@example.com', password: 'their own words' })
    t.equal((await victim.post(`${api}/invitations/accept/`, { token })).status, 200)
  },
)

t.test('a temporary token cannot join, switch or leave a tenant, or read anything', async (t) => {
  const { owner, path } = await foundFirm(service)
  const ada = await service.signUp()
  await enrol(service, ada)
  await expect(201, owner.post(`${path}/invitations/`, { email: ada.email }))
  const token = tokenIn(await service.mailTo(ada.email, 'invited'))
  const { temporary_token: half } = (await attemptLogin(service, ada)).body
  t.match(await post('invitations/accept', { token }, half), { status: 401, body: { code: 'otp_required' } })
  t.match(await post('auth/switch-tenant', { tenant_id: ada.tenantId }, half), { status: 401 })
  t.match(await post('auth/logout-all', {}, half), { status: 401 })
  t.match(await post('auth/refresh', { refresh: half }), { status: 401 })
  t.match(await post('auth/otp/totp/setup', {}, half), { status: 401, body: { code: 'otp_required' } })
})

t.test('a second factor that was verified in one tenant counts in the tenant that requires it', async (t) => {
  const ada = await service.signUp()
  const { secret } = await enrol(service, ada)
  const other = await expect(201, ada.post(`${api}/tenants/`, { name: 'Strict' }))
  await requireMfa(service, other.id)
  t.equal((await ada.put(`${api}/tenants/${other.id}/`, { name: 'Stricter' })).status, 200)
  service.advance(60_000)
  const again = await attemptLogin(service, ada)
  const code = codeAt(secret, service.now())
  const { access } = (await post('auth/otp/verify', { code }, again.body.temporary_token)).body
  t.equal(
    (await service.call('PUT', `${api}/tenants/${other.id}/`, { token: access, body: { name: 'Same' } }))
      .status,
    200,
  )
})

t.test(
  'after a change of address, links, codes and pending sign-ins of the old address do not work',
  async (t) => {
    const ada = await service.signUp()
    await changeRows(
      service,
      `update tenants set settings = settings || '{"require_mfa": true}' where id = '${ada.tenantId}'`,
    )
    const { temporary_token: half } = (await attemptLogin(service, ada)).body
    await post('auth/otp/email/send', {}, half)
    const code = codeIn(await service.mailTo(ada.email, 'sign-in code'))
    await post('auth/password/reset', { email: ada.email })
    const reset = tokenIn(await service.mailTo(ada.email, 'Reset'))
    const moved = 'ada.moved@example.com'
    t.equal((await ada.patch(`${api}/users/me/`, { email: moved })).status, 200)
    t.match(await post('auth/otp/verify', { code }, half), { status: 400, body: { code: 'otp_invalid' } })
    t.match(await post('auth/password/reset/confirm', { token: reset, password: 'another harbour' }), {
      status: 400,
    })
    t.equal((await attemptLogin(service, ada)).status, 401, 'no account has the old address')
    const squatter = await service.signUp({ email: ada.email })
    t.not(squatter.id, ada.id)
  },
)
