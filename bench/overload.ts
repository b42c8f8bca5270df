import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { reportAndExit } from '../src/start/stop-signal.ts'
import { memoryOf } from './cpu.ts'
import { type Probed, probe } from './probe.ts'
import { type Account, generate, type Load, openStage, type Stage } from './stage.ts'

// Measures how a flood of one client affects others. Run it by hand on a quiet machine, where load, API and Postgres
// share the cores:
//   node bench/overload.ts [--seconds 15] [--json]
// login flood: logins of unknown people at many times the rate that the cores can hash. The rate limits are off, so only
// the limit on hashing applies. noisy tenant: one tenant sends ten times its limit, another tenant continues as before.
// Both are compared with the same probes on the idle service, in one run.

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '15' }, json: { type: 'boolean', default: false } },
})
const seconds = Number(values.seconds)

const bearer = ({ access }: Account) => ({ authorization: `Bearer ${access}` })

async function probes(during: Promise<unknown>, url: string, account: Account) {
  const [health, me] = await Promise.all([
    probe(during, `${url}/healthz`),
    probe(during, `${url}/api/v1/users/me/`, bearer(account)),
  ])
  return { health, me }
}

/** The maximum resident memory in MB while `during` runs. */
async function peakMemory(during: Promise<unknown>, pid: number): Promise<number> {
  let peak = 0
  let over = false
  during.finally(() => {
    over = true
  })
  while (!over) {
    peak = Math.max(peak, memoryOf(pid))
    await sleep(100)
  }
  return peak
}

const strangers: Load['accounts'] = Array.from({ length: 256 }, (_, n) => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ email: `stranger${n}@example.com`, password: 'not this one' }),
}))

async function loginFlood(stage: Stage) {
  const { url, pid } = stage.servers.api
  const [account] = stage.accounts as [Account]
  const idle = await probes(sleep(seconds * 500), url, account)
  const memoryBefore = memoryOf(pid)
  const at = Date.now() + 1_500
  const flood = generate({
    url,
    method: 'POST',
    path: '/api/v1/auth/login/',
    seconds,
    accounts: strangers,
    rate: 1_000,
    at,
  })
  await sleep(at - Date.now())
  const [loaded, during, memory] = await Promise.all([
    flood,
    probes(flood, url, account),
    peakMemory(flood, pid),
  ])
  const recovery = await recovered(url, account, idle.me.p99)
  return { idle, during, loaded, memoryBefore, memory, recovery }
}

/** The ms until ten reads in a row take no longer than `limit` ms, or 10 ms; gives up after 30 s. */
async function recovered(url: string, account: Account, limit: number): Promise<number> {
  const started = performance.now()
  for (let quick = 0; quick < 10; ) {
    const asked = performance.now()
    await (await fetch(`${url}/api/v1/users/me/`, { headers: bearer(account) })).text()
    quick = performance.now() - asked <= Math.max(limit, 10) ? quick + 1 : 0
    if (performance.now() - started > 30_000) break
  }
  return performance.now() - started
}

async function noisyTenant(stage: Stage) {
  const { url } = stage.servers.api
  const [neighbour, noisy] = stage.accounts as [Account, Account]
  const path = '/api/v1/users/me/'
  const idle = await probe(sleep(seconds * 500), url + path, bearer(neighbour))
  const noise = generate({
    url,
    method: 'GET',
    path,
    seconds,
    accounts: Array.from({ length: 32 }, () => ({ headers: bearer(noisy), body: '' })),
    rate: 1_000, // per second: ten times a tenant's limit of 6,000 per minute
  })
  const [loaded, during] = await Promise.all([noise, probe(noise, url + path, bearer(neighbour))])
  return { idle, during, loaded }
}

const ms = (value: number) => `${value.toFixed(1)} ms`
const compare = (what: string, idle: Probed, during: Probed) =>
  console.log(
    `  ${what}: p50 ${ms(idle.p50)} → ${ms(during.p50)}, p99 ${ms(idle.p99)} → ${ms(during.p99)} (${(during.p99 / idle.p99).toFixed(2)} ×), ${during.count} asked, ${during.failed} failed`,
  )

async function main() {
  const open = await openStage(2)
  const flood = await loginFlood(open).finally(() => open.close())
  const limited = await openStage(2, [], {
    RATE_LIMIT_ENABLED: 'true',
    RATE_LIMIT_PER_USER: '1000000',
    RATE_LIMIT_REGISTER_PER_HOUR: '1000',
  })
  const noise = await noisyTenant(limited).finally(() => limited.close())
  if (values.json) return console.log(JSON.stringify({ flood, noise }))
  const { loaded, recovery } = flood
  console.log(`login flood, 1,000 offered per second for ${seconds} s`)
  compare('health', flood.idle.health, flood.during.health)
  compare('GET users/me', flood.idle.me, flood.during.me)
  console.log(
    `  answered ${loaded.requests + loaded.failed}, of them refused ${loaded.refused.count}, p50 ${ms(loaded.refused.p50)}, p99 ${ms(loaded.refused.p99)}, without Retry-After ${loaded.refused.withoutRetryAfter}`,
  )
  console.log(
    `  memory ${flood.memoryBefore.toFixed(0)} → at most ${flood.memory.toFixed(0)} MB; response times are normal again ${ms(recovery)} after the end`,
  )
  console.log(`noisy tenant, 1,000 offered per second, 100 allowed`)
  compare('neighbour', noise.idle, noise.during)
  console.log(
    `  answered ${noise.loaded.requests}, refused ${noise.loaded.refused.count}, p99 ${ms(noise.loaded.refused.p99)}`,
  )
}

main().catch(reportAndExit)
