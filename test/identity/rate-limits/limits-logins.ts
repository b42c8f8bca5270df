import type { Test } from 'tap'
import type { Service } from '../../helpers/service.ts'

export const home = '198.51.100.7'
/** Switches the limits on. The test is its own proxy, so that X-Forwarded-For names the address. */
export const env = { RATE_LIMIT_ENABLED: 'true', TRUSTED_PROXIES: '127.0.0.1,::1' }
export const throttled = { status: 429, body: { code: 'throttled' } }

export const loginOf =
  (service: Service) =>
  (email: string, password: string, from = home) =>
    service.call('POST', '/api/v1/auth/login/', {
      body: { email, password },
      headers: { 'x-forwarded-for': from },
    })

/** Six failures from one address, and twenty-one: the same on every store of the limits. */
export async function limitsLogins(t: Test, service: Service) {
  const login = loginOf(service)
  const ada = await service.register()
  for (let n = 0; n < 5; n++) t.equal((await login(ada.email, 'not this one')).status, 401)
  const refused = await login(ada.email, ada.password)
  t.match(refused, throttled, 'the sixth is refused, although the password is right')
  const wait = Number(refused.headers.get('retry-after'))
  t.ok(wait > 0 && wait <= 60, `${wait} s`)
  t.equal(refused.headers.get('ratelimit-policy'), '"login-account";q=5;w=60')
  t.equal(refused.headers.get('ratelimit'), `"login-account";r=0;t=${wait}`)
  t.equal(
    (await login(ada.email, ada.password, '203.0.113.1')).status,
    200,
    'from another address it is accepted',
  )
  for (let n = 0; n < 4; n++) {
    const bob = await service.register()
    for (let m = 0; m < (n < 3 ? 5 : 0); m++) t.equal((await login(bob.email, 'not this one')).status, 401)
    if (n < 3) continue
    t.match(
      (await login(bob.email, bob.password)).headers.get('ratelimit-policy'),
      '"login-address";q=20;w=60',
    )
  }
}
