import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { decodeJwt } from 'jose'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { startService } from '../helpers/service.ts'
import { openApplication, tokensFor } from '../oauth/relying-party.ts'
import { expect, look } from '../tenancy/staff.ts'
import { until } from '../workers/stage.ts'
import { runWorker } from '../workers/worker-process.ts'

// The process that tells applications of logouts is killed while it tells them, before and after they answered.

t.test('an application is told within 60 s of each logout, though the worker is killed', async (t) => {
  const SECRET_KEYS = randomBytes(32).toString('base64url')
  const env = { SECRET_KEYS, FEDERATION_ALLOW_PRIVATE: 'true' }
  const service = await startService(t, { workers: false, env })
  service.advance(Date.now() - service.now()) // to the clock of the worker
  const { superuser: _superuser, ...urls } = service.databases
  const settings = {
    ...env,
    NODE_ENV: 'test',
    PUBLIC_URL: service.deps.publicUrl(),
    DATABASE_API_URL: urls.api,
    DATABASE_SYSTEM_URL: urls.system,
    DATABASE_WORKER_URL: urls.worker,
  }
  const start = () => runWorker(t, settings, 'outbox-relay', 'logout')

  const seen: { sid: string; jti: string; at: number }[] = []
  const kills: number[] = []
  let worker = await start()
  let killAt: 'arrival' | 'answer' | null = null
  const server = createServer(async (incoming, response) => {
    let body = ''
    for await (const part of incoming) body += part
    const { sid, jti } = decodeJwt(new URLSearchParams(body).get('logout_token')!)
    seen.push({ sid: String(sid), jti: jti!, at: Date.now() })
    const kill = killAt
    killAt = null
    const die = () => {
      kills.push(Date.now())
      worker.child.kill('SIGKILL')
    }
    if (kill === 'arrival') return die()
    response.on('finish', () => kill === 'answer' && die())
    response.writeHead(200).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  const { port } = server.address() as { port: number }

  const owner = await service.signUp()
  const app = await openApplication(service, owner, {
    backchannel_logout_uri: `http://127.0.0.1:${port}/backchannel`,
    first_party: true,
  })
  const ended = new Map<string, number>()
  const endSessions = async (count: number) => {
    for (let n = 0; n < count; n++) {
      const person = await colleague(service, owner)
      const { tokens } = await tokensFor(service, app, person)
      await expect(200, person.post('/api/v1/auth/logout-all/'))
      ended.set(String(decodeJwt(tokens.id_token!).sid), Date.now())
    }
  }
  for (const moment of ['arrival', 'answer', 'arrival', 'answer'] as const) {
    const before = kills.length
    killAt = moment
    await endSessions(4)
    await until(() => kills.length > before)
    if (worker.child.signalCode === null) await once(worker.child, 'exit')
    worker = await start()
  }
  await endSessions(4)
  const pending = () => look(service, `select from oauth_logouts where status <> 'delivered'`, [])
  await until(async () => (await pending()).length === 0)

  t.equal(ended.size, 20)
  const last = new Map(seen.map((one) => [one.sid, one.at]))
  const took = [...ended].map(([sid, at]) => last.get(sid)! - at)
  t.ok(Math.max(...took) < 60_000, `the longest took ${Math.max(...took)} ms`)
  for (const sid of ended.keys()) {
    const times = seen.filter((one) => one.sid === sid)
    t.equal(new Set(times.map(({ jti }) => jti)).size, 1, 'the same logout')
    // What was under way when the worker died comes again, and nothing else.
    const again = times.slice(0, -1)
    t.ok(
      again.every(({ at }) => kills.some((kill) => Math.abs(kill - at) < 1_000)),
      'none twice without need',
    )
  }
  t.comment(
    `${ended.size} logouts, ${kills.length} kills, ${seen.length} requests, the longest took ${Math.max(...took)} ms`,
  )
})
