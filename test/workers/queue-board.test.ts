import { once } from 'node:events'
import t from 'tap'
import { queues as messages } from '../../src/messages/queues/queues.ts'
import { mailServer } from './mail-server.ts'
import { addWebhook } from './receiver.ts'
import { freePort, openStage, until, usualBackends } from './stage.ts'
import { startWorker } from './worker-process.ts'

const canary = 'canary-6f1d2c'
const password = `${canary} of an operator`
const authorization = `Basic ${Buffer.from(`operator:${password}`).toString('base64')}`

for (const { kind, skip } of usualBackends)
  t.test(
    `the board shows queues on ${kind}, no secret and no address, and changes nothing`,
    { skip },
    async (t) => {
      const server = await mailServer(t)
      server.answer = ({ raw }) =>
        Object.assign(new Error(`${canary} ${raw.slice(-80).replaceAll(/\s+/g, ' ')}`), { responseCode: 451 })
      await server.start()
      const stage = await openStage(t, { kind, smtpUrl: server.url })
      await addWebhook(stage, `http://127.0.0.1:9/${canary}`)
      await stage.append(stage.tenant)
      await stage.post(stage.tenant, `${canary}@example.test`, `https://app.test/verify?token=${canary}`)
      const port = await freePort()
      const env = { ...stage.env, MANAGEMENT_PORT: String(port), QUEUE_BOARD_PASSWORD: password }
      const worker = await startWorker(t, env)
      const seen: string[] = []
      const ask = async (
        path: string,
        method = 'GET',
        headers: Record<string, string> = { authorization },
      ) => {
        const answer = await fetch(new URL(path, `http://127.0.0.1:${port}/queues/`), { method, headers })
        const text = await answer.text()
        seen.push(text)
        return { status: answer.status, type: answer.headers.get('content-type') ?? '', text }
      }
      const read = async (path: string) => {
        const { status, text } = await ask(path)
        t.equal(status, 200, `${path}: ${status === 200 ? '' : text}`)
        return JSON.parse(text)
      }
      const jobsOf = async (queue: string, status: string) => {
        const { queues } = await read(`api/queues?activeQueue=${queue}&status=${status}&jobsPerPage=100`)
        return queues.find((one: { name: string }) => one.name === queue).jobs
      }

      // The board reads state by state, so a job that changes its state meanwhile can be missing.
      const theMail = async () => {
        let job: { id: string; data: { payload: unknown } } | undefined
        await until(async () => {
          job = (await jobsOf('email', 'latest'))[0]
          return job
        })
        return job!
      }

      // Mail and delivery failed once and wait for the next attempt.
      for (const queue of ['email', 'webhook'])
        await until(async () => (await jobsOf(queue, 'delayed')).length === 1)

      const page = await ask('/queues')
      t.equal(page.status, 200)
      t.match(page.type, 'text/html')
      t.match(page.text, '<base href="/queues/"')
      const loaded = [...page.text.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(([, path = '']) => path)
      t.ok(loaded.some((path) => path.endsWith('.js')) && loaded.some((path) => path.endsWith('.css')))
      for (const path of loaded) t.equal((await ask(path)).status, 200, path)

      const { queues } = await read('api/queues')
      t.same(queues.map(({ name }: { name: string }) => name).sort(), [
        'approval-expiry',
        'email',
        'event-fanout',
        'execution',
        'notices',
        'otp-expiry',
        'retention',
        'webhook',
        'webhook-once',
      ])
      for (const { name, readOnlyMode } of queues) {
        t.equal(readOnlyMode, true, name)
        for (const what of ['workers', 'metrics', 'rate-limit', 'default-job-options', 'job-data-schema'])
          await ask(`api/queues/${name}/${what}`)
        for (const { id } of await jobsOf(name, 'latest'))
          for (const what of ['', '/logs', '/flow']) {
            const { status } = await ask(`api/queues/${name}/${id}${what}`)
            // A scheduled job can have run meanwhile.
            t.ok(status === 200 || (status === 404 && id.startsWith('repeat:')), `${name} ${id}${what}`)
          }
      }
      await read('api/job-schedulers')
      await read('api/redis/stats')
      const job = await theMail()
      t.same(Object.keys(job.data).sort(), ['payload', 'tenant_id'])
      t.ok(messages.email.safeParse(job.data.payload).success, 'ids and a version')

      const changes = [
        ['PUT', 'api/queues/pause'],
        ['PUT', 'api/queues/email/pause'],
        ['PUT', 'api/queues/email/empty'],
        ['PUT', 'api/queues/email/obliterate'],
        ['POST', 'api/queues/email/add'],
        ['PUT', `api/queues/email/${job.id}/promote`],
        ['PUT', `api/queues/email/${job.id}/clean`],
        ['DELETE', 'api/queues/email'],
      ] as const
      for (const [method, path] of changes)
        t.equal((await ask(path, method)).status, 405, `${method} ${path}`)
      t.equal((await theMail()).id, job.id, 'it is still there')

      for (const path of ['', 'api/queues', 'api/redis/stats', 'static/favicon.ico', 'nothing', '/queues'])
        for (const method of ['GET', 'PUT'])
          t.equal((await ask(path, method, {})).status, 401, `${method} ${path}`)
      t.equal((await ask('/queuesome')).status, 404)
      t.equal((await ask('/readyz', 'GET', {})).status, 200)

      for (const path of ['static/..%2findex.ejs', 'static/../../package.json', 'static/%00', 'static/%'])
        t.equal((await ask(path)).status, 404, path)
      if (stage.redis) {
        await stage.redis.stop()
        const away = await ask('api/queues')
        t.equal(away.status, 503)
        t.equal(JSON.parse(away.text).code, 'dependency_unavailable')
      }

      for (const hidden of [
        canary,
        'example.test',
        'app.test',
        stage.env.SECRET_KEYS,
        'whsec_',
        'postgres://',
      ])
        t.notOk(seen.join('\n').includes(hidden), `${hidden} is not shown`)
      t.notMatch(worker.printed, canary)
      worker.child.kill('SIGTERM')
      await once(worker.child, 'exit')
      t.equal(worker.child.exitCode, 0, worker.printed)
    },
  )

t.test('without its password there is no board, and without a port the worker says so', async (t) => {
  const stage = await openStage(t)
  const port = await freePort()
  await startWorker(t, { ...stage.env, MANAGEMENT_PORT: String(port) })
  for (const path of ['/queues', '/queues/', '/queues/api/queues'])
    t.equal(
      (await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization } })).status,
      404,
      path,
    )
  const portless = await startWorker(t, { ...stage.env, QUEUE_BOARD_PASSWORD: password })
  t.match(portless.printed, /QUEUE_BOARD_PASSWORD is set, but MANAGEMENT_PORT is not/)
  t.notMatch(portless.printed, canary)
})
