import t from 'tap'
import { proveAddress } from '../../helpers/prove-address.ts'
import { type Client, tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { createOwnKey, createProgram } from '../api-keys/holders.ts'
import { codeAt, enrol, longProven, otherThan } from '../otp/authenticator.ts'
import { attemptPasskey, registerPasskey } from '../passkeys/software-passkey.ts'

const service = await sharedService(t)
const post = (path: string, body: unknown) => service.call('POST', `/api/v1/auth/${path}/`, { body })
const dead = { status: 401 }

async function resetPassword({ email }: { email: string }, password: string) {
  t.equal((await post('password/reset', { email })).status, 200)
  const token = tokenIn(await service.mailTo(email, 'Reset'))
  t.equal((await post('password/reset/confirm', { token, password })).status, 200)
}

t.test('a reset throws out a thief who knew the password', async (t) => {
  const owner = await longProven(service)
  const thief = await service.logIn(owner)
  const key = await createOwnKey(service, thief)
  const { authenticator } = await registerPasskey(service, thief)
  t.equal((await attemptPasskey(service, authenticator)).status, 200)

  const password = 'another quiet harbour'
  await resetPassword(owner, password)
  t.match(await thief.get('/api/v1/users/me/'), dead)
  t.match(await key.get('/api/v1/users/me/'), dead, 'the key')
  t.match(await attemptPasskey(service, authenticator), { status: 400, body: { code: 'passkey_invalid' } })
  const back = await service.logIn({ ...owner, password })
  t.match(
    (await back.get('/api/v1/users/me/')).body,
    { mfa_enabled: false },
    'nothing asks the owner for a factor',
  )
  const { text } = await service.mailTo(owner.email, 'password was changed')
  t.match(text, 'Your API keys were revoked.')
  t.notMatch(text, 'still open')
})

t.test('a reset leaves the factors that count', async (t) => {
  const owner = await longProven(service)
  const client = await service.logIn(owner)
  const { secret } = await enrol(service, client)
  service.advance(25 * 3_600_000)
  await resetPassword(owner, 'another quiet harbour')
  const again = await post('login', { ...owner, password: 'another quiet harbour' })
  t.match(again.body, { otp_required: true, methods: ['totp'] })
  const code = codeAt(secret, service.now())
  const verified = await service.call('POST', '/api/v1/auth/otp/verify/', {
    token: again.body.temporary_token,
    body: { code },
  })
  t.match(verified, { status: 200, body: { access: String } })
})

t.test('a changed password and logout-all leave API keys, unless asked, and mail what is left', async (t) => {
  const person = async () => {
    const client = await service.signUp()
    await proveAddress(service, client)
    return { client, key: await createOwnKey(service, client), other: await createOwnKey(service, client) }
  }
  const change = (client: Client, more = {}) =>
    client.post('/api/v1/auth/password/change/', {
      current_password: client.password,
      new_password: 'another quiet harbour',
      ...more,
    })
  const changed = await person()
  t.equal((await change(changed.client)).status, 200)
  t.equal((await changed.key.get('/api/v1/users/me/')).status, 200)
  const told = await service.mailTo(changed.client.email, 'password was changed')
  t.match(told.text, 'These still open your account: 2 API keys.')

  const revoking = await person()
  t.match(await change(revoking.client, { revoke_keys: 'yes' }), {
    status: 400,
    body: { revoke_keys: [String] },
  })
  t.equal((await change(revoking.client, { revoke_keys: true })).status, 200)
  t.match(await revoking.key.get('/api/v1/users/me/'), dead)
  t.match(
    (await service.mailTo(revoking.client.email, 'password was changed')).text,
    'Your API keys were revoked.',
  )

  const leaving = await person()
  t.equal((await leaving.client.post('/api/v1/auth/logout-all/')).status, 200)
  t.equal((await leaving.key.get('/api/v1/users/me/')).status, 200)
  t.match((await service.mailTo(leaving.client.email, 'sessions were ended')).text, ': 2 API keys.')
  const back = await service.logIn(leaving.client)
  const program = await createProgram(service, back, ['member'])
  t.equal((await back.post('/api/v1/auth/logout-all/', { revoke_keys: true })).status, 200)
  t.match(await leaving.key.get('/api/v1/users/me/'), dead)
  t.equal((await program.get('/api/v1/users/me/')).status, 200, 'a key of a service account is its tenant’s')
})

t.test('a key of a service account notifies the person who makes it', async (t) => {
  const owner = await service.signUp()
  await proveAddress(service, owner)
  await createProgram(service, owner, ['member'])
  const { text } = await service.mailTo(owner.email, 'created with your')
  t.match(text, 'the API key “First” was created for a service account')
})

t.test('a person hears once of each pause of their second factors', async (t) => {
  const owner = await longProven(service)
  const client = await service.logIn(owner)
  const { secret } = await enrol(service, client)
  const guess = () =>
    client.post('/api/v1/auth/otp/verify/', {
      code: otherThan(codeAt(secret, service.now())),
      device_type: 'totp',
    })
  const mails = async () =>
    (
      await service.call('GET', `/dev/mailbox?to=${owner.email}`, { headers: { accept: 'application/json' } })
    ).body.results.filter(({ subject }: { subject: string }) => subject.includes('paused')).length
  for (let n = 0; n < 6; n++) await guess()
  service.advance(301_000)
  for (let n = 0; n < 9; n++) await guess()
  t.match(await guess(), { status: 429 })
  t.match((await service.mailTo(owner.email, 'paused')).text, 'for 15 minutes no second factor is accepted')
  service.advance(901_000)
  t.equal((await post('password/reset', { email: owner.email })).status, 200)
  await service.mailTo(owner.email, 'Reset')
  t.equal(await mails(), 1)
})

t.test('deleting recovery codes asks what making them asks', async (t) => {
  const ada = await service.signUp()
  const path = '/api/v1/auth/otp/devices/'
  const { body: set } = await ada.post('/api/v1/auth/otp/static/generate/')
  service.advance(601_000)
  const stale = {
    status: 401,
    body: { code: 'insufficient_user_authentication', acr_values: 'aal1', max_age: 600 },
  }
  t.match(await ada.delete(`${path}${set.device_id}/`), stale)
  const wrong = { body: { current_password: 'not this one' } }
  t.match(await ada.delete(`${path}${set.device_id}/`, wrong), {
    status: 400,
    body: { current_password: [String] },
  })
  t.equal((await ada.get(path)).body.count, 1)
  const right = { body: { current_password: ada.password } }
  t.equal((await ada.delete(`${path}${set.device_id}/`, right)).status, 204)
})
