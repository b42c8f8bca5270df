import t from 'tap'
import { startRelay } from '../../workers/outbox-relay.ts'
import { limitPerTenant } from '../../workers/tenant-concurrency.ts'
import { webhookOnce } from '../../workers/webhook-once.ts'
import { superuserUrl } from '../helpers/cluster.ts'
import { addTest, addWebhook, startReceiver } from './receiver.ts'
import { openStage, until, usualBackends } from './stage.ts'

const { release } = await superuserUrl()
t.teardown(release)

for (const { kind, skip } of usualBackends)
  t.test(
    `on ${kind}, tests of a tenant whose receiver does not answer leave room for others`,
    { skip },
    async (t) => {
      const silent = await startReceiver(t, () => undefined)
      const receiver = await startReceiver(t)
      const stage = await openStage(t, { kind, tenants: 2 })
      const [noisy, neighbour] = stage.tenants as [string, string]
      const backend = stage.openBackend()
      const parts = [await startRelay(stage.deps, backend), await webhookOnce.start(stage.deps, backend)]
      t.teardown(async () => {
        await Promise.all(parts.map((part) => part.stop(true)))
        await backend.close()
      })
      const { id: slow } = await addWebhook(stage, silent.url, { tenantId: noisy })
      for (let n = 0; n < 40; n++) await addTest(stage, slow, noisy)
      await until(() => silent.received.length >= 5)
      const begun = performance.now()
      const { id } = await addWebhook(stage, receiver.url, { tenantId: neighbour })
      await addTest(stage, id, neighbour)
      await until(() => receiver.received.length === 1)
      t.ok(performance.now() - begun < 9_000, 'before the unanswered ones time out')
      t.ok(silent.received.length < 20, `${silent.received.length} in progress or done`)
    },
  )

t.test('messages that another process handles do not make the delay of later ones longer', async (t) => {
  let now = 0
  const limited = limitPerTenant(1, () => now)
  let finish = () => {}
  const running = limited({ id: '0', tenantId: 'a' }, () => new Promise<void>((done) => (finish = done)))
  const delayOf = (id: string) =>
    limited({ id, tenantId: 'a' }, async () => undefined).catch((error: { ms: number }) => error.ms)
  const line = ['1', '2', '3', '4']
  for (const [n, id] of line.entries()) t.equal(await delayOf(id), 250 * (n + 1))
  t.equal(await delayOf('1'), 1_000, 'one that comes back is not counted twice')
  now = 130_000
  t.equal(await delayOf('5'), 250, 'the others did not come back')
  finish()
  await running
})
