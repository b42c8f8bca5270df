import { openBrowser } from '../console/browser-client.ts'
import { claimsOf, type Service } from '../helpers/service.ts'
import { codeAt, enrol } from '../identity/otp/authenticator.ts'
import { expect } from '../tenancy/staff.ts'
import { type Tally, unauthorized } from './attack.ts'

// A thief with a copy of an access token or a cookie, who waits for the owner's second factor.

const minute = 60_000
const api = '/api/v1/auth'
const insufficient = unauthorized('insufficient_user_authentication')

/** The copy begins a chain of its own, which ends early and does not rise with the owner's. */
export async function copyOfAToken(tally: Tally, service: Service): Promise<void> {
  const ada = await service.signUp()
  const latest = service.now() + 12 * 60 * minute
  const switched = (token: string, more = {}) =>
    service.call('POST', `${api}/switch-tenant/`, { token, body: { tenant_id: ada.tenantId, ...more } })
  const refreshed = (refresh: string) => service.call('POST', `${api}/refresh/`, { body: { refresh } })
  let copy = await expect(200, switched(ada.access))
  const { secret } = await enrol(service, ada)
  service.advance(minute)
  const code = codeAt(secret, service.now())
  await expect(200, ada.post(`${api}/otp/verify/`, { code }))
  const demanding = (token: string) => () =>
    service.call('POST', `${api}/otp/static/generate/`, { token, body: {} })
  tally.check((await demanding(ada.access)()).status === 200, 'the chain that showed the factor is aal2')
  await tally.refuse("a chain beside the owner's factor", demanding(copy.access), insufficient)
  for (let hours = 0; hours < 12; hours += 5) {
    copy = await expect(200, refreshed(copy.refresh))
    await tally.refuse("a chain beside the owner's factor, later", demanding(copy.access), insufficient)
    copy = await expect(200, switched(copy.access, hours > 5 ? { refresh: copy.refresh } : {}))
    tally.check(claimsOf(copy.refresh).exp * 1000 <= latest, 'a copied token lasts 12 hours at most')
    service.advance(5 * 60 * minute)
  }
  await tally.refuse('a copied access token after 12 hours', () => refreshed(copy.refresh), [401])
}

/** The owner's factor ends the cookie that it was shown with. */
export async function copyOfACookie(tally: Tally, service: Service): Promise<void> {
  const browser = openBrowser(service)
  await browser.signIn(await service.register())
  const { cookie } = browser
  const { body } = await browser.call('POST', '/console/api/auth/otp/totp/setup/', {})
  const code = codeAt(body.secret, service.now())
  await expect(200, browser.call('POST', '/console/api/auth/otp/totp/confirm/', { code }))
  const profile = '/console/api/users/me/'
  tally.check((await browser.call('GET', profile)).status === 200, 'the new cookie opens the session')
  const withCopy = () => browser.call('GET', profile, undefined, { cookie })
  await tally.refuse("a cookie from before the owner's factor", withCopy, [401])
}
