import { openBrowser } from '../console/browser-client.ts'
import { type Client, type Service, tokenIn } from '../helpers/service.ts'
import { createProgram } from '../identity/api-keys/holders.ts'
import { attemptLogin, codeAt, codeIn, enrol, longProven } from '../identity/otp/authenticator.ts'
import { expect, foundFirm } from '../tenancy/staff.ts'
import { beginImpersonation, showFactor } from './impersonations.ts'

/** Every kind of secret that the service issues, each unused and valid, and the people that they belong to. */
export interface Credentials {
  /** By kind. */
  secrets: Record<string, string>
  /** Who asks for what is not public. */
  caller: Client
  /** The secret of an authenticator app, which no code of the caller may reveal. */
  totpSecret: string
  recoveryCodes: string[]
}

const post = (service: Service, path: string, body: object, token?: string) =>
  service.call('POST', `/api/v1/auth/${path}/`, { body, token })

/** Collects one secret of each kind. A service without magic links has none of them. */
export async function collectCredentials(service: Service): Promise<Credentials> {
  const { MAGIC_LINK_ENABLED } = service.deps.config
  // These two move the clock by more than a day: the other secrets come after them.
  const [owner, settled] = [await longProven(service), await longProven(service)]
  const person = await service.logIn(owner)
  await expect(200, person.patch('/api/v1/users/me/', { email: `moved.${owner.email}` }))
  const young = await service.logIn(settled)
  await enrol(service, young)
  const caller = await service.signUp()
  const { codes } = await expect(200, caller.post('/api/v1/auth/otp/static/generate/'))
  const enrolled = await service.signUp()
  const { secret } = await enrol(service, enrolled)
  await post(service, 'password/reset', { email: caller.email })
  const firm = await foundFirm(service)
  await expect(201, firm.owner.post(`${firm.path}/members/`, { user_id: caller.id }))
  const invited = `invited.${caller.email}`
  await expect(201, firm.owner.post(`${firm.path}/invitations/`, { email: invited }))
  const magic = await service.register()
  const asked = MAGIC_LINK_ENABLED
    ? await expect(200, post(service, 'magic-link', { email: magic.email }))
    : undefined
  const { key } = await expect(201, caller.post('/api/v1/users/me/keys/', { name: 'Attacked' }))
  const { key: accountKey } = await createProgram(service, firm.owner, ['member'])
  const member = await firm.hire('member')
  await showFactor(service, firm.owner)
  const { access: impersonation } = await expect(200, beginImpersonation(firm, firm.owner, member))
  const fresh = await service.logIn(caller)
  await expect(200, fresh.post('/api/v1/auth/otp/email/send/')) // its code works in this session only
  const { refresh: another } = await service.logIn(caller)
  const chain = await expect(200, post(service, 'switch-tenant', { tenant_id: fresh.tenantId }, fresh.access))
  const [browser, waiting] = [openBrowser(service), openBrowser(service)]
  await browser.signIn(caller)
  await waiting.signIn(enrolled)
  const linkTo = async (email: string, about: string) => tokenIn(await service.mailTo(email, about))
  const cookieValue = (cookie: string) => cookie.slice(cookie.indexOf('=') + 1)
  return {
    caller: fresh,
    totpSecret: secret,
    recoveryCodes: codes,
    secrets: {
      access: fresh.access,
      refresh: fresh.refresh,
      'refresh of another chain': chain.refresh,
      'refresh of another session': another,
      impersonation,
      'API key': key,
      'key of a service account': accountKey,
      temporary: (await attemptLogin(service, enrolled)).body.temporary_token,
      verification: await linkTo(caller.email, 'Confirm'),
      reset: await linkTo(caller.email, 'Reset'),
      invitation: await linkTo(invited, 'invited'),
      'leave link': await linkTo(caller.email, 'leave-tenant'),
      'address undo': await linkTo(owner.email, 'address was changed'),
      'factor undo': await linkTo(young.email, 'factor was added'),
      ...(asked && {
        'magic link': await linkTo(magic.email, 'asked to sign in'),
        nonce: asked.nonce as string,
      }),
      'mailed code': codeIn(await service.mailTo(caller.email, 'sign-in code')),
      'recovery code': codes[0]!,
      'code of an app': codeAt(secret, service.now()),
      cookie: cookieValue(browser.cookie),
      'waiting cookie': cookieValue(waiting.cookie),
      'application token': `bwa_${caller.id}_${'x'.repeat(43)}`,
      cursor: (await caller.get('/api/v1/auth/sessions/?page_size=1')).body.next?.split('cursor=')[1] ?? 'x',
    },
  }
}
