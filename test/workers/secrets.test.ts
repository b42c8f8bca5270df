import t from 'tap'
import { startActors } from '../../workers/actors.ts'
import { mailServer } from './mail-server.ts'
import { dumpOfQueues } from './queue-content.ts'
import { addTest, addWebhook, newSecret, seal, startReceiver } from './receiver.ts'
import { openStage, until, usualBackends } from './stage.ts'

const canary = 'canary-6f1d2c'

for (const { kind, skip } of usualBackends)
  t.test(
    `the token of a mail is in no queue, table or log line on ${kind}, whether it fails or not`,
    { skip },
    async (t) => {
      const server = await mailServer(t)
      await server.start()
      let answers = 0
      // A mail server can repeat its input, and then an error with its answer would repeat it too.
      server.answer = ({ raw }) => {
        const code = ['later', 'never'][answers++] === 'later' ? 451 : 550
        return Object.assign(new Error(`${canary} ${raw.slice(-80).replaceAll(/\s+/g, ' ')}`), {
          responseCode: code,
        })
      }
      const stage = await openStage(t, { kind, smtpUrl: server.url })
      const running = await startActors(stage.deps)
      t.teardown(() => running.stop())
      await stage.post(stage.tenant, `${canary}@example.test`, `https://app.test/verify?token=${canary}`)
      const seen: string[] = []
      while ((await stage.count('dead_letters')) === 0) {
        seen.push(await dumpOfQueues(stage), JSON.stringify(await stage.rows('select * from outbox')))
        seen.push(JSON.stringify(await stage.rows('select * from mails')))
      }
      seen.push(JSON.stringify(await stage.rows('select * from dead_letters')), stage.logged.join(''))
      t.equal(server.received.length, 2)
      t.match(server.received[0]!.raw, canary)
      t.match(seen.join('\n'), /mail_id/)
      t.notMatch(seen.join('\n'), canary)
      const sealed = await stage.rows('select content_sealed from mails')
      t.notMatch(sealed[0].content_sealed.toString('latin1'), canary)
      await until(async () => (await stage.count('outbox')) === 0)
    },
  )

for (const { kind, skip } of usualBackends)
  t.test(
    `a webhook's secrets, its URL and the receiver's answer are in no queue, delivery or log line on ${kind}`,
    { skip },
    async (t) => {
      let answers = 0
      const receiver = await startReceiver(t, (_received, response) => {
        const status = [500, 410][answers++ % 2]!
        response.writeHead(status, canary, { 'x-echo': canary, location: `/${canary}` }).end(canary)
        return undefined
      })
      const stage = await openStage(t, { kind })
      const running = await startActors(stage.deps)
      t.teardown(() => running.stop())
      const previous = newSecret()
      const { id, secret } = await addWebhook(stage, `${receiver.url}/in/${canary}?key=${canary}`)
      await stage.root.query(
        `update webhooks set previous_secret_sealed = $1, previous_secret_expires_at = now() + interval '1 day'`,
        [seal(stage, stage.tenant, id, previous)],
      )
      const broken = await addWebhook(stage, `http://127.0.0.1:9/${canary}`)
      await stage.append(stage.tenant)
      await addTest(stage, broken.id)
      const seen: string[] = []
      const tables = ['outbox', 'dead_letters', 'webhook_deliveries', 'audit_log']
      const disabled = async () => stage.logged.some((line) => line.includes('a webhook was disabled'))
      for (const end = Date.now() + 300_000; !(await disabled()) && Date.now() < end; ) {
        seen.push(await dumpOfQueues(stage))
        for (const table of tables) seen.push(JSON.stringify(await stage.rows(`select * from ${table}`)))
      }
      for (const table of tables) seen.push(JSON.stringify(await stage.rows(`select * from ${table}`)))
      seen.push(stage.logged.join(''))
      t.equal(receiver.received.length, 2)
      t.match(receiver.received[0]!.headers['webhook-signature'], /^v1,\S+ v1,\S+$/)
      const all = seen.join('\n')
      t.match(all, /webhook_id/)
      t.match(all, /event not delivered/)
      for (const hidden of [canary, secret, previous, broken.secret])
        t.notOk(all.includes(hidden.replace('whsec_', '')), 'no part of it is stored')
      t.notMatch(all, 'v1,')
      const sealed = await stage.rows('select secret_sealed, previous_secret_sealed from webhooks')
      t.notMatch(sealed.map((row) => String(row.secret_sealed)).join(), 'whsec_')
    },
  )
