import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { startActors } from '../../workers/actors.ts'
import { addWebhook, newSecret, startReceiver } from './receiver.ts'
import { backends, openStage, until } from './stage.ts'

t.setTimeout(180_000)

for (const { kind, skip } of backends)
  t.test(`on ${kind}`, { skip }, async (t) => {
    t.test('events arrive once, in order, signed so that a library of others believes them', async (t) => {
      const receiver = await startReceiver(t)
      const stage = await openStage(t, { kind })
      const running = await startActors(stage.deps)
      t.teardown(() => running.stop())
      const { id, secret } = await addWebhook(stage, `${receiver.url}/in`)
      for (let n = 0; n < 20; n++) await stage.append(stage.tenant)
      await until(() => receiver.taken.length === 20)
      await until(async () => (await stage.count('outbox')) === 0)
      t.same(
        receiver.received.map(({ sequence }) => sequence),
        Array.from({ length: 20 }, (_, n) => n + 1),
      )
      for (const { headers, body, path, id } of receiver.received) {
        t.match(new Webhook(secret).verify(body, headers), { id, specversion: '1.0', tenantid: stage.tenant })
        t.equal(headers['webhook-id'], id)
        t.equal(path, '/in')
        t.equal(headers['content-type'], 'application/cloudevents+json')
        t.match(headers['user-agent'], /^Bailiwick\/\d/)
      }
      t.throws(() =>
        new Webhook(newSecret()).verify(receiver.received[0]!.body, receiver.received[0]!.headers),
      )
      const rows = await stage.rows(
        'select status, attempt, response_status, error, next_attempt_at from webhook_deliveries',
      )
      for (const row of rows)
        t.same(row, {
          status: 'succeeded',
          attempt: 1,
          response_status: 204,
          error: null,
          next_attempt_at: null,
        })
      t.match(await stage.rows('select * from webhooks'), [{ id, failures: 0, last_success_at: Date }])
    })
  })
