import { type Answer, type Client, claimsOf, type Service, tokenIn } from '../helpers/service.ts'
import { tampered } from '../helpers/tampered.ts'
import { attemptLogin, codeAt, codeIn, enrol, longProven, requireMfa } from '../identity/otp/authenticator.ts'
import { attemptPasskey, registerPasskey } from '../identity/passkeys/software-passkey.ts'
import { expect } from '../tenancy/staff.ts'
import { type Attack, type Tally, unauthorized } from './attack.ts'
import { copyOfACookie, copyOfAToken } from './copies.ts'

const minute = 60_000
const api = '/api/v1'
const me = `${api}/users/me/`

export const secondFactors: Attack = {
  name: 'factors',
  about: 'a thief with the password, a session or a mailbox against the rules of second factors',
  async run(stage, tally) {
    const env = { RATE_LIMIT_ENABLED: 'false', MAGIC_LINK_ENABLED: 'true' }
    const service = await stage.fresh({ env })
    for (const attempt of [
      thiefEnrolsAFactor,
      codeOfAnotherSignIn,
      temporaryToken,
      oldSession,
      removedFactor,
      strictTenantFromOutside,
      demandAfterTheSignIn,
      youngPasskey,
      magicLinkOfAnother,
      codesAfterAReset,
      copyOfAToken,
      copyOfACookie,
    ])
      await attempt(tally, service)
  },
}

const insufficient = unauthorized('insufficient_user_authentication')
const factorDue = unauthorized('otp_required')
const verify = (service: Service, token: string, code: string) =>
  service.call('POST', `${api}/auth/otp/verify/`, { token, body: { code } })
const acrOf = async (client: Client) =>
  (await client.get(`${api}/auth/sessions/`)).body.results.find(
    ({ current }: { current: boolean }) => current,
  ).acr

/** A person whose factors can be young, with a tenant that requires a second factor. */
async function strictOwner(service: Service) {
  const owner = await longProven(service)
  const client = await service.logIn(owner)
  const { id } = await expect(201, client.post(`${api}/tenants/`, { name: 'Strict' }))
  await requireMfa(service, id)
  return { owner, strict: id as string }
}

const enter = (client: Client, tenant_id: string) => () =>
  client.post(`${api}/auth/switch-tenant/`, { tenant_id })

async function thiefEnrolsAFactor(tally: Tally, service: Service) {
  const { owner, strict } = await strictOwner(service)
  const thief = await service.logIn(owner)
  const { secret } = await enrol(service, thief)
  service.advance(minute)
  const shown = await thief.post(`${api}/auth/otp/verify/`, { code: codeAt(secret, service.now()) })
  tally.check(shown.status === 200, 'a young factor is verified')
  tally.check((await acrOf(thief)) === 'aal1', 'a young factor leaves the session at aal1')
  await tally.refuse('a strict tenant with a young factor', enter(thief, strict), factorDue)
  const again = await attemptLogin(service, owner, { tenant_id: strict })
  const { body } = await verify(service, again.body.temporary_token, codeAt(secret, service.now() + minute))
  tally.check(body.access === undefined, 'a young factor completes no sign-in to a strict tenant')
}

async function codeOfAnotherSignIn(tally: Tally, service: Service) {
  const ada = await service.signUp()
  const other = await service.logIn(ada)
  await expect(200, ada.post(`${api}/auth/otp/email/send/`))
  const code = codeIn(await service.mailTo(ada.email, 'sign-in code'))
  const isWrong = ({ status, body }: Answer) => status === 400 && body.verified === false
  await tally.refuse('a mailed code in another sign-in', () => verify(service, other.access, code), isWrong)
  const eve = await service.signUp()
  await tally.refuse('a mailed code of another person', () => verify(service, eve.access, code), isWrong)
  const { codes } = await expect(200, ada.post(`${api}/auth/otp/static/generate/`))
  await tally.refuse(
    'a recovery code of another person',
    () => verify(service, eve.access, codes[0]),
    isWrong,
  )
  await expect(200, ada.post(`${api}/auth/otp/static/generate/`))
  await tally.refuse(
    'a recovery code of a replaced set',
    () => verify(service, ada.access, codes[1]),
    isWrong,
  )
}

async function temporaryToken(tally: Tally, service: Service) {
  const ada = await service.signUp()
  const { secret } = await enrol(service, ada)
  service.advance(minute)
  const { body } = await attemptLogin(service, ada)
  tally.check(
    body.access === undefined && body.otp_required === true,
    'a password alone opens no enrolled account',
  )
  const half = body.temporary_token
  for (const [method, path] of [
    ['GET', 'users/me'],
    ['GET', 'tenants'],
    ['POST', 'auth/otp/totp/setup'],
    ['POST', 'auth/otp/static/generate'],
    ['POST', 'auth/logout-all'],
    ['DELETE', 'users/me'],
  ] as const)
    await tally.refuse(
      `a temporary token: ${method} ${path}`,
      () => service.call(method, `${api}/${path}/`, { token: half, ...(method !== 'GET' && { body: {} }) }),
      factorDue,
    )
  const code = codeAt(secret, service.now())
  await expect(200, verify(service, half, code))
  await tally.refuse(
    'a used temporary token',
    () => verify(service, half, codeAt(secret, service.now(), 1)),
    [401],
  )
  await tally.refuse(
    'a mailed code for a used temporary token',
    () => service.call('POST', `${api}/auth/otp/email/send/`, { token: half, body: {} }),
    [401],
  )
  const next = (await attemptLogin(service, ada)).body.temporary_token
  await tally.refuse('a used code', () => verify(service, next, code), [400])
  await tally.refuse(
    'a code of an earlier step',
    () => verify(service, next, codeAt(secret, service.now(), -1)),
    [400],
  )
}

/** A session that was stolen long after the sign-in. */
async function oldSession(tally: Tally, service: Service) {
  const ada = await service.signUp()
  service.advance(14 * minute)
  const { body } = await service.call('POST', `${api}/auth/refresh/`, { body: { refresh: ada.refresh } })
  Object.assign(ada, body)
  service.advance(2 * minute)
  const change = { email: `moved.${ada.email}` }
  await tally.refuse('an old session changes the address', () => ada.patch(me, change), insufficient)
  await tally.refuse(
    'an old session sets up a factor',
    () => ada.post(`${api}/auth/otp/totp/setup/`, {}),
    insufficient,
  )
  await tally.refuse(
    'an old session makes codes',
    () => ada.post(`${api}/auth/otp/static/generate/`),
    insufficient,
  )
  await tally.refuse('an old session erases the account', () => ada.delete(me), insufficient)
  await tally.refuse(
    'a wrong current password',
    () => ada.patch(me, { ...change, current_password: 'x' }),
    [400, 401],
  )
  const passwords = { current_password: 'not this one', new_password: 'another harbour' }
  await tally.refuse(
    'a change with a wrong password',
    () => ada.post(`${api}/auth/password/change/`, passwords),
    [400],
  )
}

async function removedFactor(tally: Tally, service: Service) {
  const ada = await service.signUp()
  const { secret, deviceId } = await enrol(service, ada)
  service.advance(14 * minute)
  const { body } = await service.call('POST', `${api}/auth/refresh/`, { body: { refresh: ada.refresh } })
  Object.assign(ada, body)
  const remove = () => ada.delete(`${api}/auth/otp/devices/${deviceId}/`)
  await tally.refuse('a factor is removed without showing one', remove, insufficient)
  await tally.refuse(
    'a second app is added without showing one',
    () => ada.post(`${api}/auth/otp/totp/setup/`, {}),
    insufficient,
  )
  const eve = await service.signUp()
  await tally.refuse(
    'a factor of another person',
    () => eve.delete(`${api}/auth/otp/devices/${deviceId}/`),
    [404],
  )
  await expect(200, ada.post(`${api}/auth/otp/verify/`, { code: codeAt(secret, service.now()) }))
  await requireMfa(service, ada.tenantId)
  await tally.refuse(
    'the last factor of a strict tenant',
    remove,
    ({ status, body }) => status === 409 && body.code === 'last_factor',
  )
}

async function strictTenantFromOutside(tally: Tally, service: Service) {
  const { owner, strict } = await strictOwner(service)
  const thief = await service.logIn(owner)
  const path = `${api}/tenants/${strict}/`
  const writes: Record<string, () => Promise<Answer>> = {
    update: () => thief.put(path, { settings: { require_mfa: false } }),
    suspend: () => thief.post(`${path}suspend/`),
    archive: () => thief.post(`${path}archive/`),
    delete: () => thief.delete(path),
  }
  for (const [what, write] of Object.entries(writes))
    await tally.refuse(`${what} a strict tenant from outside`, write, insufficient)
  await tally.refuse('enter a strict tenant by password', enter(thief, strict), factorDue)
  const login = await attemptLogin(service, owner, { tenant_id: strict })
  tally.check(login.body.access === undefined, 'log in to a strict tenant by password')
}

/** A tenant that begins to require a second factor: the next refresh asks for it. */
async function demandAfterTheSignIn(tally: Tally, service: Service) {
  const ada = await service.signUp()
  await requireMfa(service, ada.tenantId)
  const use = () => service.call('POST', `${api}/auth/refresh/`, { body: { refresh: ada.refresh } })
  await tally.refuse('a refresh into a tenant that now is strict', use, factorDue)
}

async function youngPasskey(tally: Tally, service: Service) {
  const { owner, strict } = await strictOwner(service)
  const thief = await service.logIn(owner)
  const { authenticator } = await registerPasskey(service, thief)
  const { body } = await attemptPasskey(service, authenticator, { tenant_id: strict })
  tally.check(body.access === undefined, 'a young passkey completes no sign-in to a strict tenant')
  const elsewhere = await attemptPasskey(service, authenticator)
  const weak = elsewhere.body.access === undefined || claimsOf(elsewhere.body.access).acr === 'aal1'
  tally.check(weak, 'a young passkey signs in to aal1 only')
}

/** A link that somebody else asked for, or that is read by somebody else, logs nobody in. */
async function magicLinkOfAnother(tally: Tally, service: Service) {
  const { email } = await service.register()
  const ask = () => service.call('POST', `${api}/auth/magic-link/`, { body: { email } })
  const { nonce } = await expect(200, ask())
  const token = tokenIn(await service.mailTo(email, 'asked to sign in'))
  const confirm = (other: string) => () =>
    service.call('POST', `${api}/auth/magic-link/confirm/`, { body: { token, nonce: other } })
  const forged = tampered(nonce)
  await tally.refuse('a magic link with a wrong nonce', confirm(forged), [400])
  await tally.refuse('the link after a wrong nonce', confirm(nonce), [400])
}

/** Whoever reads the mailbox resets the password: a code to the same mailbox is no second factor then. */
async function codesAfterAReset(tally: Tally, service: Service) {
  const owner = await longProven(service)
  const ada = await service.logIn(owner)
  await enrol(service, ada)
  service.advance(25 * 60 * minute) // from then on the app counts
  const passwordOnly = { email: owner.email, password: 'another quiet harbour' }
  await expect(200, service.call('POST', `${api}/auth/password/reset/`, { body: { email: owner.email } }))
  const token = tokenIn(await service.mailTo(owner.email, 'Reset'))
  const body = { token, password: passwordOnly.password }
  await expect(200, service.call('POST', `${api}/auth/password/reset/confirm/`, { body }))
  const half = (await attemptLogin(service, passwordOnly)).body
  tally.check(half.access === undefined, 'a reset does not log in')
  await service.call('POST', `${api}/auth/otp/email/send/`, { token: half.temporary_token, body: {} })
  const mail = await Promise.race([
    service.mailTo(owner.email, 'sign-in code').then(codeIn, () => null),
    new Promise<null>((done) => setTimeout(done, 300, null)),
  ])
  if (mail === null) return tally.count('no code is mailed after a reset', null)
  const shown = await verify(service, half.temporary_token, mail)
  const weak = shown.body.access === undefined || claimsOf(shown.body.access).acr === 'aal1'
  tally.check(weak, 'a code to the mailbox of a reset counts as no second factor')
}
