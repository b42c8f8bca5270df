import { once } from 'node:events'
import t, { type Test } from 'tap'
import { actors } from '../../workers/actors.ts'
import { startRelay } from '../../workers/outbox-relay.ts'
import { header, mailServer } from './mail-server.ts'
import { emptyQueues } from './queue-content.ts'
import { mailActors, openStage, type Stage, until, usualBackends } from './stage.ts'
import { runWorker, startWorker } from './worker-process.ts'

const relayOf = async (t: Test, stage: Stage, options = {}) => {
  const backend = stage.openBackend()
  const relay = await startRelay(stage.deps, backend, options)
  t.teardown(async () => {
    await relay.stop()
    await backend.close()
  })
}

for (const { kind, skip } of usualBackends)
  t.test(`on ${kind}`, { skip }, async (t) => {
    t.test(
      'three processes share the mails, send each once, and end on SIGTERM with exit code 0',
      async (t) => {
        const server = await mailServer(t)
        await server.start()
        const stage = await openStage(t, { kind, smtpUrl: server.url })
        const workers = await Promise.all(
          [['email'], ['email'], mailActors].map((names) => runWorker(t, stage.env, ...names)),
        )
        await Promise.all(
          Array.from({ length: 60 }, (_, n) => stage.post(stage.tenant, `n${n}@example.test`)),
        )
        await until(async () => (await stage.count('outbox')) === 0)
        t.equal(new Set(server.received.map(({ raw }) => header(raw, 'Message-ID'))).size, 60)
        t.equal(server.received.length, 60)
        for (const { child } of workers) child.kill('SIGTERM')
        for (const { child, printed } of workers) {
          if (child.exitCode === null) await once(child, 'exit')
          t.equal(child.exitCode, 0, printed)
        }
      },
    )

    t.test('a mail whose worker died after sending it is sent again with the same Message-ID', async (t) => {
      const server = await mailServer(t)
      await server.start()
      const stage = await openStage(t, { kind, smtpUrl: server.url })
      const worker = await runWorker(t, stage.env, 'email')
      server.answer = () => {
        worker.child.kill('SIGKILL')
        return null
      }
      await relayOf(t, stage, { overdueAfter: 500 })
      await stage.post(stage.tenant, 'ada@example.test')
      await once(worker.child, 'exit')
      server.answer = () => null
      await emptyQueues(stage)
      await runWorker(t, stage.env, 'email')
      await until(async () => (await stage.count('outbox')) === 0)
      t.equal(server.received.length, 2)
      t.equal(header(server.received[0]!.raw, 'Message-ID'), header(server.received[1]!.raw, 'Message-ID'))
      t.strictSame(await stage.rows('select status, attempts from mails'), [{ status: 'sent', attempts: 2 }])
    })
  })

// One stage for all: each of these processes ends before it changes anything.
const stage = await openStage(t)

t.test('an unknown actor ends the process with the list of actors', async (t) => {
  const { child, printed } = await startWorker(t, stage.env, 'letter-pigeon')
  if (child.exitCode === null) await once(child, 'exit')
  t.equal(child.exitCode, 2)
  const names = actors.map((actor) => actor.name).join(', ')
  t.ok(printed.includes(`Unknown actor letter-pigeon. The actors are: ${names}.`))
})

t.test('a worker without Postgres names the setting', async (t) => {
  const DATABASE_WORKER_URL = 'postgres://bailiwick_worker:hush@127.0.0.1:9/x'
  const { child, printed } = await startWorker(t, { ...stage.env, DATABASE_WORKER_URL })
  if (child.exitCode === null) await once(child, 'exit')
  t.equal(child.exitCode, 1)
  t.equal(printed.trim(), 'DATABASE_WORKER_URL: no Postgres answers at 127.0.0.1:9')
})

t.test('a worker without an issuer signs no logout token', async (t) => {
  const { child, printed } = await startWorker(t, stage.env, 'logout')
  if (child.exitCode === null) await once(child, 'exit')
  t.equal(child.exitCode, 1)
  t.equal(printed.trim(), 'The actor logout needs PUBLIC_URL, the issuer in its tokens.')
})

t.test('a worker refuses a role that bypasses row-level security', async (t) => {
  const { child, printed } = await startWorker(t, { ...stage.env, DATABASE_WORKER_URL: stage.urls.superuser })
  if (child.exitCode === null) await once(child, 'exit')
  t.equal(child.exitCode, 1)
  t.match(printed, /row-level security/)
})

t.test('a worker refuses keys that open nothing that is sealed in its database', async (t) => {
  await stage.post(stage.tenant, 'ada@example.test')
  const SECRET_KEYS = 'A'.repeat(43)
  const { child, printed } = await startWorker(t, { ...stage.env, SECRET_KEYS })
  if (child.exitCode === null) await once(child, 'exit')
  t.equal(child.exitCode, 1)
  t.match(printed, /^SECRET_KEYS opens nothing that is sealed in this database \(mails\.content_sealed\)/)
})

t.test('a key that is too short is named by its place and length, and not shown', async (t) => {
  const SECRET_KEYS = `${stage.env.SECRET_KEYS},canary`
  const { child, printed } = await startWorker(t, { ...stage.env, SECRET_KEYS })
  if (child.exitCode === null) await once(child, 'exit')
  t.equal(child.exitCode, 1)
  t.match(
    printed,
    /SECRET_KEYS must hold keys of 32 bytes in base64url, separated by commas: key 2 has 4 bytes/,
  )
  t.notMatch(printed, 'canary')
})
