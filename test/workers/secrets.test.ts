import t from 'tap'
import { startActors } from '../../workers/actors.ts'
import { mailServer } from './mail-server.ts'
import { dumpOfQueues } from './queue-content.ts'
import { backends, openStage, until } from './stage.ts'

t.setTimeout(120_000)
const canary = 'canary-6f1d2c'

for (const { kind, skip } of backends)
  t.test(
    `a token in a mail is in no queue, table or log line on ${kind}, failing or not`,
    { skip },
    async (t) => {
      const server = await mailServer(t)
      await server.start()
      let answers = 0
      // A mail server may repeat what it was given, and so would the error made of its answer.
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
