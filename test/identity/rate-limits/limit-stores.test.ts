import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { openLimiters } from '../../../src/identity/rate-limits/limiters.ts'
import { startService } from '../../helpers/service.ts'
import { backends, startRedis } from '../../workers/stage.ts'
import { env, limitsLogins } from './limits-logins.ts'

t.test('while Redis is unavailable nothing waits, and each process limits on its own', async (t) => {
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as { port: number }
  closed.close()
  const service = await startService(t, {
    env: { ...env, REDIS_URL: `redis://127.0.0.1:${port}` },
    workers: false,
  })
  const begun = performance.now()
  await service.deps.limiters.take([{ limit: 'register', key: 'x' }])
  t.ok(performance.now() - begun < 5_000)
  await limitsLogins(t, service)
})

t.test('a Redis that accepts connections but never answers delays no request for long', async (t) => {
  const mute = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(mute, 'listening')
  t.teardown(() => mute.close())
  const { port } = mute.address() as { port: number }
  const service = await startService(t, {
    env: { ...env, REDIS_URL: `redis://127.0.0.1:${port}` },
    workers: false,
  })
  const begun = performance.now()
  for (let n = 0; n < 5; n++) await service.deps.limiters.take([{ limit: 'login-address', key: 'x' }])
  t.ok(performance.now() - begun < 5_000, `${performance.now() - begun} ms`)
})

t.test(
  'processes on one Redis count together, and on their own once it is gone',
  { skip: backends[1]!.skip },
  async (t) => {
    const redis = await startRedis(t)
    const service = await startService(t, { env: { ...env, REDIS_URL: redis.url }, workers: false })
    const { config, db, log, limiters: one } = service.deps
    const two = await openLimiters(config, db, log, Date.now)
    t.teardown(() => two.close())
    await limitsLogins(t, service)
    const uses = [{ limit: 'login-account', key: 'somebody' }] as const
    await two.giveBack([{ limit: 'login-account', key: 'nobody' }]) // once it answers, both are connected
    for (const limiter of [one, two, one, two, one]) await limiter.take(uses)
    await t.rejects(two.take(uses), { code: 'throttled' })
    await one.giveBack(uses)
    await two.take(uses)
    await redis.stop()
    for (let n = 0; n < 5; n++) await two.take(uses)
    await t.rejects(two.take(uses), { code: 'throttled' }, 'the limit of this process')
  },
)
