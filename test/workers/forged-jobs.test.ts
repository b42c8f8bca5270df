import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { QueuedMessage } from '../../src/messages/queues/queued-message.ts'
import { startActors } from '../../workers/actors.ts'
import { superuserUrl } from '../helpers/cluster.ts'
import { addWebhook } from './receiver.ts'
import { backends, openStage, type Stage, until } from './stage.ts'

// Redis has no rights by queue: who can write to it can add any job.

const { release } = await superuserUrl()
t.teardown(release)

const uuid = randomUUID()
/** Jobs that their queues can read. */
const payloads = {
  email: { v: 1, mail_id: uuid },
  'event-fanout': { v: 1, event_id: uuid },
  webhook: { v: 1, webhook_id: uuid },
  'webhook-once': { v: 1, webhook_id: uuid, delivery_id: uuid },
  execution: { v: 1, approval_request_id: uuid },
}
type Queue = keyof typeof payloads

/** Writes a message of each queue that no relay enqueues again. */
async function writeMessages(stage: Stage): Promise<{ id: string; queue: Queue }[]> {
  for (const [queue, payload] of Object.entries(payloads))
    await stage.root.query(
      `insert into outbox (tenant_id, id, queue, payload, created_at, enqueued_at)
       values ($1, gen_random_uuid(), $2, $3, now(), now())`,
      [stage.tenant, queue, payload],
    )
  return (await stage.rows('select id, queue from outbox')) as { id: string; queue: Queue }[]
}

for (const { kind, skip } of backends)
  t.test(`on ${kind}`, { skip }, async (t) => {
    const openWithActors = async () => {
      const stage = await openStage(t, { kind })
      const backend = stage.openBackend()
      const running = await startActors(stage.deps, Object.keys(payloads))
      t.teardown(async () => {
        await running.stop()
        await backend.close()
      })
      const jobs = async (...states: string[]) => {
        const samples = await backend.measure(Object.keys(payloads))
        const counted = samples.filter(({ labels }) => 'state' in labels && states.includes(labels.state))
        return counted.reduce((sum, { value }) => sum + value, 0)
      }
      const idle = async () => (await jobs('waiting', 'active', 'delayed')) === 0
      return { stage, add: backend.add, jobs, idle }
    }

    t.test('a forged job ends no message of another queue', async (t) => {
      const { stage, add, idle } = await openWithActors()
      const messages = await writeMessages(stage)
      for (const queue of Object.keys(payloads) as Queue[]) {
        const foreign = messages.filter((message) => message.queue !== queue)
        const keys = foreign.map(({ id }) => ({ id, tenantId: stage.tenant }))
        const jobs: QueuedMessage[] = keys.map((key) => ({ ...key, payload: payloads[queue] }))
        const others: QueuedMessage = {
          id: randomUUID(),
          tenantId: stage.tenant,
          payload: payloads[queue],
          others: keys,
        }
        await add(queue, [...jobs, others])
        await add(queue, [{ ...keys[0]!, job: randomUUID(), payload: 'unreadable' }])
      }
      await until(idle)
      t.equal(await stage.count('outbox'), messages.length)
      t.equal(await stage.count('dead_letters'), 0)
    })

    t.test('a job acts as its message in the outbox says, not as the job says', async (t) => {
      const { stage, add, idle } = await openWithActors()
      const { tenant: tenantId } = stage
      const first = await stage.post(tenantId, 'first@example.test')
      await stage.post(tenantId, 'second@example.test')
      const [{ id }] = await stage.rows(`select id from outbox where payload ->> 'mail_id' <> '${first}'`)
      await add('email', [{ id, tenantId, payload: { v: 1, mail_id: first } }])
      await until(idle)
      t.match(await stage.rows('select recipient from captured_mails'), [
        { recipient: 'second@example.test' },
      ])
      t.match(await stage.rows('select status from mails order by id'), [
        { status: 'pending' },
        { status: 'sent' },
      ])
    })

    t.test('a forged job does not end the message of another webhook', async (t) => {
      const { stage, add, jobs } = await openWithActors()
      const { tenant: tenantId } = stage
      const { id: webhookId } = await addWebhook(stage, 'http://127.0.0.1:9', {
        columns: { is_active: true },
      })
      await stage.root.query(
        `insert into webhook_deliveries (tenant_id, id, webhook_id, event_id, event_type, sequence, in_order,
                                         next_attempt_at, retry_until, created_at)
         values ($1, gen_random_uuid(), $2, gen_random_uuid(), 'a.b', 1, true, now() + interval '1 day',
                 now() + interval '1 day', now())`,
        [tenantId, webhookId],
      )
      await stage.root.query(
        `insert into outbox (tenant_id, id, queue, payload, created_at, enqueued_at)
         values ($1, gen_random_uuid(), 'webhook', jsonb_build_object('v', 1, 'webhook_id', $2::text), now(), now())`,
        [tenantId, webhookId],
      )
      const [{ id }] = await stage.rows('select id from outbox')
      await add('webhook', [{ id, tenantId, payload: payloads.webhook }])
      await until(async () => (await jobs('waiting', 'active')) === 0)
      t.equal(await stage.count('outbox'), 1)
    })
  })
