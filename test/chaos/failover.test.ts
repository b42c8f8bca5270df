import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createLogger } from '../../src/observe/log.ts'
import { serveApi } from '../../src/start/serve.ts'
import { useProductionTimeouts } from '../helpers/database.ts'
import { query } from '../helpers/query.ts'
import { freePort } from '../workers/stage.ts'
import { serverIn } from './standby.ts'
import { atPort, startTwoServers, type TwoServers } from './two-servers.ts'

// own process: it counts seconds, and kills a server

// A primary and a synchronous standby behind HAProxy, as docs/how-to/scale.md shows them. The primary is killed while people
// write; the standby is promoted. The service must write again within ten seconds, without a restart, and each write that it
// answered with 201 must be there.

useProductionTimeouts(t)

async function startHaproxy(t: Test, { folder, primary, standby }: TwoServers): Promise<number> {
  const port = await freePort()
  const file = join(folder, 'haproxy.cfg')
  const lines = [
    'defaults',
    '  mode tcp',
    '  timeout connect 1s',
    '  timeout client 1h',
    '  timeout server 1h',
    '  option redispatch',
    'listen postgres',
    `  bind 127.0.0.1:${port}`,
    '  default-server check inter 200ms fall 2 on-marked-down shutdown-sessions',
    `  server primary 127.0.0.1:${primary.port}`,
    `  server standby 127.0.0.1:${standby.port} backup`,
  ]
  await writeFile(file, `${lines.join('\n')}\n`)
  const child = spawn('haproxy', ['-db', '-q', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  const exit = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await exit
  })
  return port
}

t.test(
  'a killed primary costs no acknowledged write, and the service writes again within 10 s',
  async (t) => {
    const settings = { synchronous_standby_names: 'standby' }
    const servers = await startTwoServers(t, settings, { LIMIT_DEPARTMENTS: '100000' })
    const { primary, standby } = servers
    const port = await startHaproxy(t, servers)
    const { DATABASE_API_URL: api, DATABASE_SYSTEM_URL: system } = servers.config
    const config = {
      ...servers.config,
      DATABASE_API_URL: atPort(api!, port),
      DATABASE_SYSTEM_URL: atPort(system!, port),
    }
    const serving = await serveApi(config, createLogger('silent', false))
    t.teardown(() => serving.stop())

    const send = async (path: string, body: object, token = '') => {
      const answer = await fetch(`${serving.url}/api/v1/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(15_000),
      })
      return { status: answer.status, body: JSON.parse(await answer.text()) }
    }
    const person = { email: 'ada@example.com', password: 'a quiet harbour' }
    await send('auth/register/', person)
    const { body: pair } = await send('auth/login/', person)
    const tenantId = JSON.parse(Buffer.from(pair.access.split('.')[1], 'base64url').toString()).tenant_id

    const acknowledged: { name: string; at: number }[] = []
    const statuses = new Set<number>()
    let over = false
    const write = async (client: number) => {
      for (let n = 0; !over; n++) {
        const name = `Department ${client} ${n}`
        const answer = await send(`tenants/${tenantId}/departments/`, { name }, pair.access).catch(
          () => undefined,
        )
        statuses.add(answer?.status ?? 0)
        if (answer?.status === 201) acknowledged.push({ name, at: performance.now() })
        else await sleep(50)
      }
    }
    const writers = Array.from({ length: 4 }, (_none, client) => write(client))
    while (acknowledged.length < 50) await sleep(10)

    process.kill(await serverIn(primary.home), 'SIGKILL')
    const killed = performance.now()
    await sleep(1_000) // whatever promotes needs to notice first
    await query(standby.url, 'select pg_promote()')
    const before = acknowledged.length
    while (acknowledged.length < before + 50 && performance.now() - killed < 30_000) await sleep(10)
    over = true
    await Promise.all(writers)

    const first = acknowledged.find(({ at }) => at > killed + 1_000)
    t.ok(
      first && first.at - killed < 10_000,
      `writes again ${Math.round((first?.at ?? 0) - killed)} ms after the kill`,
    )
    const url = Object.assign(new URL(standby.url), { pathname: new URL(api!).pathname }).href
    const kept = new Set((await query(url, 'select name from departments')).map(({ name }) => name))
    const lost = acknowledged.filter(({ name }) => !kept.has(name))
    t.same(lost, [], `${acknowledged.length} acknowledged writes`)
    statuses.delete(201)
    t.same([...statuses], [503], 'what cannot be written is refused as temporary')
  },
)
