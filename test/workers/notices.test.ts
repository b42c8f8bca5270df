import t from 'tap'
import { startActors } from '../../workers/actors.ts'
import { mailServer, type Received } from './mail-server.ts'
import { mailActors, openStage, until, usualBackends } from './stage.ts'

const isNotice = ({ raw }: Received) => raw.includes('renamed')

for (const { kind, skip } of usualBackends)
  t.test(
    `on ${kind}, a flood of notices delays neither codes and links nor other tenants`,
    { skip },
    async (t) => {
      const server = await mailServer(t)
      await server.start()
      const stage = await openStage(t, { kind, smtpUrl: server.url, tenants: 2 })
      const [noisy, neighbour] = stage.tenants as [string, string]
      let release = () => {}
      const released = new Promise<void>((done) => (release = done))
      const hangs = (mail: Received) => isNotice(mail) && !mail.to.includes('bob@example.test')
      server.answer = (mail) => (hangs(mail) ? released.then(() => null) : null)
      for (let n = 0; n < 20; n++) await stage.notify(noisy, `ada${n}@example.test`)
      const running = await startActors(stage.deps, mailActors)
      t.teardown(async () => {
        release()
        await running.stop()
      })
      await until(() => server.received.some(hangs))
      await stage.post(noisy, 'eve@example.test')
      await stage.post(neighbour, 'eve@example.test')
      await stage.notify(neighbour, 'bob@example.test')
      await until(() => server.received.filter((mail) => !hangs(mail)).length === 3)
      t.ok(server.received.filter(hangs).length < 3, 'the tenant leaves a slot to the others')
      release()
      await until(async () => (await stage.count('outbox')) === 0)
      t.equal(server.received.length, 23)
    },
  )

t.test('`email` on the command line starts the notices too', async (t) => {
  const stage = await openStage(t)
  const running = await startActors(stage.deps, ['email'])
  await running.stop()
  t.ok(stage.logged.some((line) => line.includes('"actors":["email","notices"]')))
})
