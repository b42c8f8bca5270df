import t from 'tap'
import { startActors } from '../../workers/actors.ts'
import { atReceiver, fairSlots } from '../../workers/fair-slots.ts'
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
      const url = receiver.url.replace('127.0.0.1', 'localhost')
      const { id } = await addWebhook(stage, url, { tenantId: neighbour })
      await addTest(stage, id, neighbour)
      await until(() => receiver.received.length === 1)
      t.ok(silent.received.length < 20, `${silent.received.length} in progress or done`)
    },
  )

for (const { kind, skip } of usualBackends)
  t.test(
    `on ${kind}, a receiver that answers late holds few slots, however many tenants use it, and other deliveries go on`,
    { skip },
    async (t) => {
      let held = 0
      let mostHeld = 0
      const slow = await startReceiver(t, (_received, response) => {
        mostHeld = Math.max(mostHeld, ++held)
        response.on('close', () => held--)
        return undefined
      })
      const receiver = await startReceiver(t)
      const stage = await openStage(t, { kind, tenants: 21 })
      const [neighbour, ...noisy] = stage.tenants as [string, ...string[]]
      for (const tenantId of noisy)
        for (let n = 0; n < 11; n++) await addWebhook(stage, slow.url, { tenantId })
      await addWebhook(stage, receiver.url.replace('127.0.0.1', 'localhost'), { tenantId: neighbour })
      const running = await startActors(stage.deps, ['outbox-relay', 'event-fanout', 'webhook'])
      t.teardown(() => running.stop())
      await Promise.all(noisy.map((tenantId) => stage.append(tenantId)))
      await until(() => held >= 20)
      await stage.append(neighbour)
      await until(() => receiver.received.length === 1)
      t.ok(mostHeld <= 20, `${mostHeld} of 200 slots`)
      await slow.close()
    },
  )

for (const { kind, skip } of usualBackends)
  t.test(
    `on ${kind}, one tenant leaves room for others at a receiver that they share and that answers late`,
    { skip },
    async (t) => {
      let held = 0
      let mostHeld = 0
      const shared = await startReceiver(t, ({ path }, response) => {
        if (path !== '/slow') return 204
        mostHeld = Math.max(mostHeld, ++held)
        response.on('close', () => held--)
        return undefined
      })
      const stage = await openStage(t, { kind, tenants: 2 })
      const [noisy, neighbour] = stage.tenants as [string, string]
      for (let n = 0; n < 20; n++) await addWebhook(stage, `${shared.url}/slow`, { tenantId: noisy })
      await addWebhook(stage, shared.url, { tenantId: neighbour })
      const running = await startActors(stage.deps, ['outbox-relay', 'event-fanout', 'webhook'])
      t.teardown(() => running.stop())
      await stage.append(noisy)
      await until(() => held >= 10)
      await stage.append(neighbour)
      await until(() => shared.received.some(({ path }) => path !== '/slow'))
      t.ok(mostHeld <= 10, `${mostHeld} of the 20 slots of the host`)
      await shared.close()
    },
  )

t.test('messages that another process handles do not make the delay of later ones longer', async (t) => {
  let now = 0
  const inSlot = fairSlots({ total: 4, perKey: 1 }, () => now)
  let finish = () => {}
  const running = inSlot('0', ['a'], () => new Promise<void>((done) => (finish = done)))
  const delayOf = (id: string) =>
    inSlot(id, ['a'], async () => undefined).catch((error: { ms: number }) => error.ms)
  const line = ['1', '2', '3', '4']
  for (const [n, id] of line.entries()) t.equal(await delayOf(id), 250 * (n + 1))
  t.equal(await delayOf('1'), 1_000, 'one that comes back is not counted twice')
  now = 130_000
  t.equal(await delayOf('5'), 250, 'the others did not come back')
  finish()
  await running
})

/** Tenants of which each always has 11 webhooks to run, of 10 s each, to hosts of their own. Moves the clock. */
function crowd(tenants: number) {
  let now = 0
  let running = 0
  const runs: { ends: number; end: () => void }[] = []
  const inSlot = fairSlots({ total: 200, perKey: 20 }, () => now)
  const begin = async (tenant: string, n: number) => {
    const work = () =>
      new Promise<void>((end) => {
        running++
        runs.push({ ends: now + 10_000, end })
      })
    const done = inSlot(`${tenant} ${n}`, [tenant, `${tenant}-${n}.example`], work)
    done.then(
      () => running--,
      () => undefined,
    )
  }
  const second = async () => {
    now += 1_000
    const over = runs.filter(({ ends }) => ends <= now)
    runs.splice(0, runs.length, ...runs.filter(({ ends }) => ends > now))
    for (const { end } of over) end()
    await new Promise(setImmediate)
    for (let n = 0; n < 11; n++) for (let m = 0; m < tenants; m++) begin(`tenant-${m}`, n)
    await new Promise(setImmediate)
    return running
  }
  return { second, begin, running: () => running }
}

t.test('20 tenants whose receivers answer late leave slots free at every moment', async (t) => {
  const { second, begin, running } = crowd(20)
  let most = 0
  for (let s = 0; s < 300; s++) most = Math.max(most, await second())
  t.ok(most < 180, `${most} of 200 slots`)
  t.ok(running() > 60, `${running()} are in use, so slots do not stay idle`)
  const before = running()
  begin('neighbour', 0)
  t.equal(running(), before + 1)
})

t.test(
  'of the slots of a host that tenants share, one gets half, and a newcomer always gets one',
  async (t) => {
    const inSlot = fairSlots({ total: 200, perKey: 20 }, () => 0)
    const held = new Map<string, number>()
    const fill = (tenant: string) => {
      for (let n = 0; n < 30; n++)
        inSlot(`${tenant} ${n}`, atReceiver(tenant, 'shared.example'), async () => {
          held.set(tenant, (held.get(tenant) ?? 0) + 1)
          await new Promise(() => undefined)
        }).catch(() => undefined)
      return held.get(tenant) ?? 0
    }
    t.equal(fill('first'), 10)
    t.ok(fill('second') > 0)
    t.ok(fill('third') > 0)
    t.ok(fill('fourth') > 0)
  },
)

t.test('a tenant alone gets all the slots that a tenant can have', async (t) => {
  const now = 0
  const inSlot = fairSlots({ total: 200, perKey: 20 }, () => now)
  let begun = 0
  for (let n = 0; n < 30; n++)
    inSlot(`${n}`, ['a'], async () => {
      begun++
      await new Promise(() => undefined)
    }).catch(() => undefined)
  t.equal(begun, 20)
})
