import t from 'tap'
import { openCallLimits } from '../../../src/identity/rate-limits/call-limits.ts'
import { startService } from '../../helpers/service.ts'
import { openApplication, tokensFor } from '../../oauth/relying-party.ts'
import { env, throttled } from './limits-logins.ts'

t.test('calls of a person and of a tenant are limited', async (t) => {
  const service = await startService(t, {
    env: { ...env, RATE_LIMIT_PER_USER: '20', RATE_LIMIT_PER_TENANT: '30' },
    workers: false,
  })
  const ada = await service.signUp()
  const other = await service.logIn(ada)
  service.advance(60_000 - (service.now() % 60_000))
  const first = await ada.get('/api/v1/users/me/')
  t.equal(first.headers.get('ratelimit-policy'), '"user";q=20;w=60, "tenant";q=30;w=60')
  t.equal(first.headers.get('ratelimit'), '"user";r=19;t=60, "tenant";r=29;t=60')
  for (let n = 0; n < 19; n++) t.equal((await (n % 2 ? ada : other).get('/api/v1/users/me/')).status, 200)
  service.advance(20_000)
  const refused = await ada.get('/api/v1/users/me/')
  t.match(refused, throttled)
  t.equal(refused.headers.get('retry-after'), '40')
  t.equal(refused.headers.get('ratelimit'), '"user";r=0;t=40')
  t.match(await other.get('/api/v1/users/me/'), throttled, 'a person’s sessions share the limit')
  const bob = await service.signUp()
  t.equal((await bob.get('/api/v1/users/me/')).status, 200, 'others have their own limit')
  service.advance(40_000)
  t.equal((await ada.get('/api/v1/users/me/')).status, 200)
})

t.test('processes share the counts of busy callers', async (t) => {
  const service = await startService(t, {
    env: { ...env, RATE_LIMIT_PER_USER: '100', RATE_LIMIT_OAUTH_PER_CLIENT: '3' },
    workers: false,
  })
  const { config, db, clock, log } = service.deps
  const [one, two] = [1, 2].map(() => openCallLimits(config, db, clock, log)) as [
    ReturnType<typeof openCallLimits>,
    ReturnType<typeof openCallLimits>,
  ]
  t.teardown(() => [one.close(), two.close()])
  const caller = { userId: 'somebody', tenantId: 'somewhere' }
  for (let n = 0; n < 60; n++) one.count(caller)
  for (let n = 0; n < 30; n++) two.count(caller)
  await Promise.all([one.exchange(), two.exchange()])
  await Promise.all([one.exchange(), two.exchange()])
  two.count(caller)
  await two.exchange()
  for (let n = 0; n < 9; n++) two.count(caller)
  t.throws(() => two.count(caller), { code: 'throttled' }, '60 in the other process and 40 here make 100')

  const owner = await service.signUp()
  const shop = await openApplication(service, owner, { first_party: true })
  service.advance(60_000 - (service.now() % 60_000))
  const { tokens } = await tokensFor(service, shop, owner)
  const read = () =>
    fetch(`${service.url}/oauth/userinfo`, { headers: { Authorization: `Bearer ${tokens.access_token}` } })
  for (let n = 0; n < 2; n++) t.equal((await read()).status, 200)
  const refused = await read()
  t.equal(refused.status, 429, 'the uses of an application have a limit of their own')
  t.match(await refused.json(), { error: 'temporarily_unavailable' })
  t.equal(refused.headers.get('retry-after'), '60')
})

t.test('without RATE_LIMIT_ENABLED nothing is throttled, and answers have no such headers', async (t) => {
  const service = await startService(t, { workers: false })
  const ada = await service.signUp()
  for (let n = 0; n < 12; n++)
    t.equal(
      (await service.call('POST', '/api/v1/auth/password/reset/', { body: { email: 'a@example.com' } }))
        .status,
      200,
    )
  t.equal((await ada.get('/api/v1/users/me/')).headers.get('ratelimit'), null)
})
