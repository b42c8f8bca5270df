import t from 'tap'
import { startRelay } from '../../workers/outbox-relay.ts'
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
