import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { readConfig } from '../src/settings/config.ts'
import { reportAndExit } from '../src/start/stop-signal.ts'
import { disposableDatabase } from '../test/helpers/database.ts'
import type { Abuse } from './abuses/abuse.ts'
import { costlyBodies, strangersBodies } from './abuses/bodies.ts'
import { loopingModules } from './abuses/looping-modules.ts'
import { policyTests, policyWrites } from './abuses/policy-trials.ts'
import { percentile } from './percentile.ts'
import { probe } from './probe.ts'
import { apiEnvironment, end, entry, freePort, generate, type Load, serve } from './stage.ts'
import type { Turns } from './watch-loop.ts'

// Measures how one abuser affects the others: the response times of /healthz and the longest turn of the event loop, of the
// idle service and under the load, in the same run.
//   node bench/abuse.ts [--only <name>,...] [--runs 3] [--seconds 10] [--json]
// A new kind of abuse is a file in bench/abuses and a line in this list.

const abuses: readonly Abuse[] = [loopingModules, policyTests, policyWrites, strangersBodies, costlyBodies]

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    runs: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '10' },
    json: { type: 'boolean', default: false },
  },
})
const seconds = Number(values.seconds)
const everyMs = 20
// After its start a service still compiles what it runs.
const restMs = 3_000

type Api = Awaited<ReturnType<typeof serve>>

/** The p99 of /healthz and the longest turns of the event loop while `during` runs, in ms. */
async function watch({ url, child }: Api, during: Promise<unknown>) {
  await longestTurns(child)
  const { p99, failed } = await probe(during, `${url}/healthz`, {}, everyMs)
  return { p99, failed, turn: await longestTurns(child) }
}

/** Of the time since the last call. */
async function longestTurns(child: Api['child']): Promise<Turns> {
  child.send('turns')
  const [turns] = await once(child, 'message')
  return turns
}

async function run(api: Api, loads: readonly Omit<Load, 'url' | 'seconds'>[]) {
  const idle = await watch(api, sleep(seconds * 1_000))
  const at = Date.now() + 1_500
  const loaded = Promise.all(loads.map((load) => generate({ ...load, url: api.url, seconds, at })))
  await sleep(at - Date.now())
  const during = await watch(api, loaded)
  const answers = (await loaded).map(({ requests, failed, refused }) => ({
    ok: requests,
    refused: refused.count,
    failed: failed - refused.count,
  }))
  return { idle, during, answers }
}

async function measure(abuse: Abuse) {
  const { urls, drop } = await disposableDatabase()
  const settings = {
    ...apiEnvironment(
      readConfig({
        NODE_ENV: 'test',
        DATABASE_API_URL: urls.api,
        DATABASE_SYSTEM_URL: urls.system,
        DATABASE_WORKER_URL: urls.worker,
        SECRET_KEYS: randomBytes(32).toString('base64url'),
      }),
    ),
    MANAGEMENT_PORT: String(await freePort()),
    ...(await abuse.settings?.()),
  }
  const watched = ['--import', join(import.meta.dirname, 'watch-loop.ts'), entry, 'api']
  try {
    const api = await serve(watched, settings, '/readyz', true)
    try {
      const loads = await abuse.setUp(api.url)
      await sleep(restMs)
      const runs: Awaited<ReturnType<typeof run>>[] = []
      for (let n = 0; n < Number(values.runs); n++) runs.push(await run(api, loads))
      return summary(abuse, runs)
    } finally {
      await end(api.child)
    }
  } finally {
    await drop()
  }
}

/** The medians of the runs. */
function summary({ name }: Abuse, runs: readonly Awaited<ReturnType<typeof run>>[]) {
  const median = (figure: (each: (typeof runs)[number]) => number) =>
    Math.round(10 * percentile(runs.map(figure), 0.5)) / 10
  return {
    abuse: name,
    'p99 idle': median(({ idle }) => idle.p99),
    'p99 during': median(({ during }) => during.p99),
    'p99 added': median(({ idle, during }) => during.p99 - idle.p99),
    'longest turn idle': median(({ idle }) => idle.turn.ms),
    'longest turn during': median(({ during }) => during.turn.ms),
    'its CPU at most': median(({ during }) => during.turn.cpuMs),
    failed: runs.reduce((sum, { during }) => sum + during.failed, 0),
    answers: runs
      .at(-1)!
      .answers.map(({ ok, refused, failed }) => `${ok}/${refused}/${failed}`)
      .join(' '),
  }
}

async function main() {
  const names = values.only?.split(',')
  const unknown = names?.find((name) => !abuses.some((abuse) => abuse.name === name))
  if (unknown) throw new Error(`Unknown abuse ${unknown}: ${abuses.map(({ name }) => name).join(', ')}`)
  const rows: ReturnType<typeof summary>[] = []
  for (const abuse of abuses) {
    if (names && !names.includes(abuse.name)) continue
    if (!values.json) console.error(abuse.about)
    rows.push(await measure(abuse))
    if (!values.json) console.table(rows.at(-1))
  }
  if (values.json) console.log(JSON.stringify({ rows, abouts: abuses.map(({ about }) => about) }))
}

main().catch(reportAndExit)
