import t from 'tap'
import { proveAddress } from '../../helpers/prove-address.ts'
import { startService } from '../../helpers/service.ts'
import { codeAt, codeIn, enrol, otherThan } from './authenticator.ts'

const otp = '/api/v1/auth/otp'

t.test('a person and their second factors', async (t) => {
  const service = await startService(t, { env: { OTP_TOTP_ISSUER_NAME: 'My Co' } })

  t.test('an authenticator app is set up, confirmed by its first code, and used', async (t) => {
    const ada = await service.signUp({ email: 'ada@example.com' })
    await proveAddress(service, ada)
    const setup = await ada.post(`${otp}/totp/setup/`)
    t.match(setup, {
      status: 200,
      body: { device: { type: 'totp', is_confirmed: false }, secret: /^[A-Z2-7]{32}$/ },
    })
    t.equal(setup.headers.get('cache-control'), 'no-store')
    const { secret, device } = setup.body
    t.equal(
      setup.body.provisioning_uri,
      `otpauth://totp/My%20Co:ada%40example.com?secret=${secret}&issuer=My%20Co`,
    )
    t.match(setup.body.qr_svg, /^<svg/)
    const code = codeAt(secret, service.now())
    const confirm = (body: object) => ada.post(`${otp}/totp/confirm/`, body)
    t.match(await confirm({ code: otherThan(code) }), {
      status: 400,
      body: { confirmed: false, code: 'otp_invalid' },
    })
    t.match(await confirm({ code }), {
      status: 200,
      body: { confirmed: true, device: { id: device.id, is_confirmed: true }, access: undefined },
    })
    t.match(await confirm({ code }), {
      status: 409,
      body: { code: 'invalid_state', current_state: 'confirmed' },
    })
    t.match((await ada.get('/api/v1/users/me/')).body, { mfa_enabled: true })
    t.match(
      await ada.post(`${otp}/verify/`, { code }),
      {
        status: 200,
        body: { verified: true, device_type: 'totp', device_id: device.id },
      },
      'confirming used up no time step',
    )
    t.match(
      await ada.post(`${otp}/verify/`, { code }),
      {
        status: 400,
        body: { verified: false, code: 'otp_invalid' },
      },
      'verifying used one up',
    )
    await service.mailTo(ada.email, 'factor was added')
  })

  t.test('a code sent by mail works once and verifies the address', async (t) => {
    const bea = await service.signUp()
    t.match(await bea.post(`${otp}/email/send/`), {
      status: 200,
      body: { message: 'OTP code sent', expires_in: 300 },
    })
    const code = codeIn(await service.mailTo(bea.email, 'sign-in code'))
    t.same((await bea.get(`${otp}/devices/`)).body.results, [], 'not listed before the address is verified')
    const verified = await bea.post(`${otp}/verify/`, {
      code: ` ${code.slice(0, 3)} ${code.slice(3)}`,
      type: 'email',
    })
    t.match(verified, { status: 200, body: { verified: true, device_type: 'email' } })
    t.match((await bea.get('/api/v1/users/me/')).body, { email_verified: true, mfa_enabled: false })
    t.match(await bea.post(`${otp}/verify/`, { code }), { status: 400 })
    const { body } = await bea.get(`${otp}/devices/`)
    t.match(body, { count: 1, results: [{ id: verified.body.device_id, type: 'email', is_confirmed: true }] })
    t.equal((await bea.delete(`${otp}/devices/${body.results[0].id}/`)).status, 204)
    t.match((await bea.get(`${otp}/devices/`)).body, { count: 0 })
    await bea.post(`${otp}/email/send/`)
    t.match((await bea.get(`${otp}/devices/`)).body, { count: 1 }, 'sending a code creates the device again')
  })

  t.test('recovery codes are shown once, work once each, and a new set voids the old one', async (t) => {
    const cleo = await service.signUp()
    const { body: first } = await cleo.post(`${otp}/static/generate/`)
    t.match(first, { count: 10, codes: Array(10).fill(/^[A-Z2-7]{24}$/) })
    const [one, two] = first.codes
    const loose = `${one.slice(0, 8).toLowerCase()}-${one.slice(8)} `
    t.match(await cleo.post(`${otp}/verify/`, { code: loose }), {
      status: 200,
      body: { device_type: 'static', device_id: first.device_id },
    })
    t.match(await cleo.post(`${otp}/verify/`, { code: one }), { status: 400 })
    t.match((await cleo.get(`${otp}/devices/`)).body.results, [{ type: 'static', remaining_codes: 9 }])
    const { body: second } = await cleo.post(`${otp}/static/generate/`)
    t.match(await cleo.post(`${otp}/verify/`, { code: two }), { status: 400 })
    t.match(await cleo.post(`${otp}/verify/`, { code: second.codes[0], device_type: 'static' }), {
      status: 200,
    })
  })

  t.test('a device can be deleted only by its owner, after a fresh second factor', async (t) => {
    const dora = await service.signUp()
    await proveAddress(service, dora)
    const { deviceId, secret } = await enrol(service, dora)
    const eve = await service.signUp()
    t.match(await eve.delete(`${otp}/devices/${deviceId}/`), { status: 404 })
    t.match(await eve.delete(`${otp}/devices/nothing/`), { status: 404 })
    service.advance(601_000)
    const stale = await dora.delete(`${otp}/devices/${deviceId}/`)
    t.match(stale, {
      status: 401,
      body: { code: 'insufficient_user_authentication', acr_values: 'aal2', max_age: 600 },
    })
    t.match(await dora.post(`${otp}/totp/setup/`), { status: 401 })
    t.match(await dora.post(`${otp}/static/generate/`), { status: 401 })
    await dora.post(`${otp}/verify/`, { code: codeAt(secret, service.now()) })
    t.equal((await dora.delete(`${otp}/devices/${deviceId}/`)).status, 204)
    t.match((await dora.get('/api/v1/users/me/')).body, { mfa_enabled: false })
    await service.mailTo(dora.email, 'factor was removed')
  })
})
