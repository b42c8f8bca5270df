import t from 'tap'
import { startService, tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { expect, look } from '../../tenancy/staff.ts'
import { env, throttled } from '../rate-limits/limits-logins.ts'
import { codeAt, enrol, longProven } from './authenticator.ts'

// A thief with the password can add many factors. The owner needs the link that removes each of them.

const otp = '/api/v1/auth/otp'
const me = '/api/v1/users/me/'

t.test('the link that removes a factor is mailed, however many were added before in the hour', async (t) => {
  const service = await sharedService(t)
  const owner = await longProven(service)
  const thief = await service.logIn(owner)
  for (let n = 0; n < 6; n++) await expect(200, thief.post(`${otp}/static/generate/`))
  await enrol(service, thief)
  const mail = await service.mailTo(owner.email, 'An authenticator app can now be used')
  await expect(200, service.call('POST', `${otp}/undo/`, { body: { token: tokenIn(mail) } }))
  const back = await service.logIn(owner)
  t.match((await back.get(me)).body, { mfa_enabled: false })
  const notices = `select from captured_mails where recipient = $1 and subject ~ 'second factor was added'`
  t.equal((await look(service, notices, [owner.email])).length, 7)
})

t.test('beyond the limit of these mails no factor is added', async (t) => {
  const service = await startService(t, { env })
  const owner = await longProven(service)
  const thief = await service.logIn(owner)
  const { secret } = await expect(200, thief.post(`${otp}/totp/setup/`))
  for (let n = 0; n < 3; n++) await expect(200, thief.post(`${otp}/static/generate/`))
  t.match(await thief.post(`${otp}/static/generate/`), throttled)
  const confirm = () => thief.post(`${otp}/totp/confirm/`, { code: codeAt(secret, service.now()) })
  for (let n = 0; n < 7; n++) t.match(await confirm(), throttled, 'and a right code counts as no attempt')
  t.match((await thief.get(me)).body, { mfa_enabled: false })
})
