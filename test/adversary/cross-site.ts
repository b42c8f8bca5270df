import { openBrowser } from '../console/browser-client.ts'
import type { Answer } from '../helpers/service.ts'
import { attemptLogin, enrol } from '../identity/otp/authenticator.ts'
import type { Attack } from './attack.ts'

export const crossSite: Attack = {
  name: 'cross-site',
  about: 'requests that other sites make a browser send to the console, and cookies that are planted or kept',
  async run(stage, tally) {
    const service = await stage.shared()
    const person = await service.signUp()
    const browser = openBrowser(service)
    await browser.signIn(person)
    const { cookie } = browser
    const me = '/console/api/users/me/'
    const send = (method: string, path: string, headers: Record<string, string>, body?: object) => () =>
      service.call(method, path, { headers: { cookie, ...headers }, ...(body && { body }) })
    const isForeign = ({ status, body }: Answer) => status === 403 && body.code === 'cross_site_request'
    const ours = { 'x-bailiwick-console': '1' }
    const foreign: Record<string, string>[] = [
      {},
      ours,
      { 'sec-fetch-site': 'same-origin' },
      { ...ours, 'sec-fetch-site': 'cross-site' },
      { ...ours, 'sec-fetch-site': 'same-site' },
      { ...ours, 'sec-fetch-site': 'none' },
      { ...ours, origin: 'https://evil.example' },
      { ...ours, origin: 'null' },
      { ...ours, 'sec-fetch-site': 'cross-site', origin: new URL(service.url).origin },
      { 'x-bailiwick-console': 'true', 'sec-fetch-site': 'same-origin' },
    ]
    for (const headers of foreign) {
      const how = JSON.stringify(headers)
      await tally.refuse(
        `PATCH with ${how}`,
        send('PATCH', me, headers, { first_name: 'Mallory' }),
        isForeign,
      )
      await tally.refuse(`sign-in with ${how}`, send('POST', '/console/session/', headers, person), isForeign)
      await tally.refuse(`sign-out with ${how}`, send('DELETE', '/console/session/', headers), isForeign)
    }
    await tally.refuse(
      'GET from another site',
      send('GET', me, { ...ours, 'sec-fetch-site': 'cross-site' }),
      isForeign,
    )
    const own = { ...ours, 'sec-fetch-site': 'same-origin' }
    await tally.refuse('two cookies', send('GET', me, { ...own, cookie: `${cookie}; ${cookie}` }), [401])
    await tally.refuse(
      'a cookie that was made up',
      send('GET', me, { ...own, cookie: `bailiwick=${'x'.repeat(43)}` }),
      [401],
    )
    tally.check(
      /; HttpOnly; SameSite=Strict/.test(browser.set),
      'the cookie is out of reach of scripts and other sites',
    )
    // A cookie from before a sign-in opens nothing after it.
    const planted = openBrowser(service)
    planted.cookie = `bailiwick=${'A'.repeat(43)}`
    await planted.signIn(person)
    tally.check(!planted.cookie.includes('AAAA'), 'a sign-in sets a new cookie')
    await enrol(service, person)
    const half = openBrowser(service)
    await half.signIn(person)
    await tally.refuse('a cookie that waits for a factor', () => half.call('GET', me), [401])
    tally.check(
      (await attemptLogin(service, person)).body.access === undefined,
      'nor does a password open the account',
    )
    await browser.call('DELETE', '/console/session/')
    await tally.refuse('a cookie after the sign-out', send('GET', me, own), [401])
  },
}
