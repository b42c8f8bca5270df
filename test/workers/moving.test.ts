import { once } from 'node:events'
import t, { type Test } from 'tap'
import { superuserUrl } from '../helpers/cluster.ts'
import { rounds } from '../helpers/rounds.ts'
import { header, mailServer } from './mail-server.ts'
import { addTest, addWebhook, startReceiver } from './receiver.ts'
import { type BackendKind, hasRedis, openStage, type Stage, until } from './stage.ts'
import { runWorker } from './worker-process.ts'

// docs/reference/workers.md, "Moving": the service continues to write, workers end in the middle of their work on one
// backend, and others start on the other.

const { release } = await superuserUrl()
t.teardown(release)

/** Messages in progress in a process that was killed: their mails can be sent again. */
const inHand = 5
const carried = ['email', 'event-fanout', 'webhook', 'webhook-once']

/** The jobs on the queues of a backend, by queue and state. */
async function jobsOn(t: Test, stage: Stage, kind: BackendKind) {
  const backend = stage.openBackend(kind)
  t.teardown(() => backend.close())
  await until(() =>
    backend.measure(carried).then(
      () => true,
      () => false,
    ),
  )
  return async (queues: string[], states: string[]) => {
    const samples = await backend.measure(queues)
    const counted = samples.filter(({ labels }) => states.includes(Reflect.get(labels, 'state')))
    return counted.reduce((sum, { value }) => sum + value, 0)
  }
}

// Four worker processes each: the second way is for the nightly tests.
const ways = [
  ['postgres', 'redis'],
  ['redis', 'postgres'],
] as const

for (const [from, to] of ways.slice(0, rounds(1, 2)))
  t.test(
    `from ${from} to ${to} nothing is lost, and jobs that remain on ${from} do no harm`,
    { skip: hasRedis ? false : 'no redis-server on this machine' },
    async (t) => {
      const server = await mailServer(t)
      await server.start()
      const receiver = await startReceiver(t)
      const stage = await openStage(t, { kind: 'redis', smtpUrl: server.url })
      const on = { redis: stage.env, postgres: { ...stage.env, REDIS_URL: '' } }
      const oldJobs = await jobsOn(t, stage, from)
      const newJobs = await jobsOn(t, stage, to)

      let moved = false
      const refusal = (code: number) =>
        Object.assign(new Error(code === 550 ? '5.1.1 no' : 'no'), { responseCode: code })
      server.answer = ({ to: [recipient = ''] }) => {
        if (recipient.startsWith('gone')) return refusal(moved ? 550 : 451)
        return recipient.startsWith('later') && !moved ? refusal(451) : null
      }
      receiver.answer = ({ sequence }) => (sequence === 3 && !moved ? 503 : 200)
      const { id: webhookId } = await addWebhook(stage, receiver.url)
      const write = async (some: string, mails: number, events: number) => {
        for (let n = 0; n < mails; n++) await stage.post(stage.tenant, `${some}${n}@example.test`)
        for (let n = 0; n < events; n++) await stage.append(stage.tenant)
      }

      const [killed, ended] = await Promise.all([runWorker(t, on[from]), runWorker(t, on[from])])
      await until(() => killed!.printed.includes('tidied up') || ended!.printed.includes('tidied up'))
      await write('later', 4, 4)
      await write('gone', 1, 0)
      await until(() => receiver.received.some(({ sequence }) => sequence === 3))
      const written = write('now', 40, 20)
      await until(() => server.received.filter(({ to }) => to[0]!.startsWith('now')).length >= 10)
      killed!.child.kill('SIGKILL')
      await written
      ended!.child.kill('SIGTERM')
      for (const { child } of [killed!, ended!])
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      t.ok((await oldJobs(carried, ['waiting', 'active', 'delayed'])) > 0, 'jobs remain on the old backend')
      await write('between', 5, 5)
      await addTest(stage, webhookId)
      // The pause before the next attempt, plus the half minute of the claim.
      await stage.root.query(`update webhook_deliveries set next_attempt_at = now() where ended_at is null`)

      moved = true
      const begun = Date.now()
      const next = await runWorker(t, on[to])
      await until(async () => (await stage.count('outbox')) === 0)
      t.comment(`all was done ${Date.now() - begun} ms after the first start on ${to}`)
      t.ok(Date.now() - begun < 60_000, 'nothing waits for the check of overdue messages')
      await until(() => next.printed.includes('tidied up'))
      await until(async () => (await newJobs(['otp-expiry'], ['delayed'])) === 1)

      const accepted = server.received.filter(({ to: [to = ''] }) => !/^(later|gone)/.test(to))
      const ids = new Set(accepted.map(({ raw }) => header(raw, 'Message-ID')))
      t.equal(ids.size, 45)
      t.ok(accepted.length <= 45 + inHand, `${accepted.length} mails`)
      t.match(await stage.rows('select status, count(*)::int from mails group by status order by status'), [
        { status: 'failed', count: 1 },
        { status: 'sent', count: 49 },
      ])
      t.equal(await stage.count('dead_letters'), 1, 'only the refused mail')
      const sequences = receiver.taken.flatMap(({ sequence = [] }) => sequence)
      // The last one is the event of the refused mail.
      const inOrder = Array.from({ length: 30 }, (_, n) => n + 1)
      t.same([...new Set(sequences)], inOrder)
      t.same(
        sequences,
        sequences.toSorted((a, b) => a - b),
      )
      t.ok(sequences.length <= 31, 'once, except for messages in progress when their process was killed')
      t.equal(receiver.taken.filter(({ sequence }) => sequence === undefined).length, 1, 'the test')

      const before = [server.received.length, receiver.received.length]
      const again = await runWorker(t, on[from])
      await until(async () => (await oldJobs(carried, ['waiting', 'delayed'])) === 0)
      t.same([server.received.length, receiver.received.length], before, 'jobs without a row do nothing')
      t.equal(await stage.count('outbox'), 0)
      t.equal(await stage.count('dead_letters'), 1)
      t.notMatch(again.printed, 'will be tried again')
      t.match(await stage.rows(`select status from mails where status <> 'sent'`), [{ status: 'failed' }])
    },
  )
