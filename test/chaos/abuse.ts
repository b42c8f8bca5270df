import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import pino from 'pino'
import { percentile } from '../../bench/percentile.ts'
import { openWorkerDeps } from '../../workers/deps.ts'
import { deleteOutdated } from '../../workers/retention.ts'
import { bareEnv } from '../helpers/bare-env.ts'
import type { Client } from './load.ts'
import type { Stage } from './stage.ts'

/** What one tenant that spends all its limits does to its neighbour, and to the disk. */
export interface Abuse {
  /** Response times of the neighbour, in ms. */
  alone: Times
  beside: Times
  /** Beside the abuser, over alone. */
  p99_factor: number
  /** What the abuser has, which is all that the limits allow (of the policies some are active), and its answers by status. */
  abuser: { made: Record<string, number>; answers: Record<string, number> }
  /** Growth of each table in bytes an hour, the largest first; tables below 1 MB are left out. */
  bytes_per_hour: Record<string, number>
  /** Rows of tables that have a time, before and after retention. */
  retention: Record<string, { before: number; after: number }>
}

interface Times {
  requests: number
  p50: number
  p99: number
  failed: number
  /** Failed requests by how they failed: a status with its code, or `no answer`, and the second in which they began. */
  failures: Record<string, number[]>
}

const secondsAlone = 40
const aDay = 86_400_000

/** Measures a neighbour alone, then beside an abusive tenant for some minutes; then lets 500 days pass. */
export async function measureAbuse(stage: Stage, neighbour: Client, minutes: number): Promise<Abuse> {
  await probe(neighbour, sleep(5_000))
  const alone = await probe(neighbour, sleep(secondsAlone * 1_000))
  const superuser = new pg.Client({ connectionString: await stage.superuserUrl() })
  await superuser.connect()
  try {
    const sizes = await sizesOf(superuser)
    const begun = performance.now()
    const abusing = abuse(stage, minutes * 60)
    const beside = await probe(neighbour, abusing)
    const abuser = await abusing
    const hours = (performance.now() - begun) / 3_600_000
    const grown = growthOf(sizes, await sizesOf(superuser), hours)
    const p99_factor = Math.round((100 * beside.p99) / alone.p99) / 100
    const retention = await passTime(stage, superuser)
    return { alone, beside, p99_factor, abuser, bytes_per_hour: grown, retention }
  } finally {
    await superuser.end()
  }
}

async function abuse(stage: Stage, seconds: number): Promise<Abuse['abuser']> {
  const file = join(import.meta.dirname, 'abuser.ts')
  const { LIMIT_WEBHOOKS, LIMIT_CUSTOM_ROLES } = stage.config
  const numbers = [seconds, LIMIT_WEBHOOKS, LIMIT_CUSTOM_ROLES].map(String)
  const child = spawn(process.execPath, [file, stage.apis[0]!.url, stage.receiver.url, ...numbers], {
    env: bareEnv,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  stage.atEnd(() => child.kill('SIGKILL'))
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (code !== 0) throw new Error('The abuser failed, as its last lines say')
  return JSON.parse(printed)
}

/** Requests of the neighbour, eight a second, until `during` is over. A person may send ten, counted in whole minutes. */
async function probe(neighbour: Client, during: Promise<unknown>): Promise<Times> {
  const times: number[] = []
  const failures: Times['failures'] = {}
  const start = performance.now()
  let failed = 0
  let over = false
  const end = () => {
    over = true
  }
  during.then(end, end)
  while (!over) {
    const begun = performance.now()
    const outcome = await neighbour.ask()
    times.push(performance.now() - begun)
    if (!/^20[01]$/.test(outcome)) {
      failed++
      failures[outcome] = [...(failures[outcome] ?? []), Math.round((begun - start) / 1_000)]
    }
    await sleep(Math.max(0, 125 - (performance.now() - begun)))
  }
  const rounded = (part: number) => Math.round(10 * percentile(times, part)) / 10
  return { requests: times.length, p50: rounded(0.5), p99: rounded(0.99), failed, failures }
}

async function sizesOf(client: pg.Client): Promise<Map<string, number>> {
  const { rows } = await client.query<{ name: string; size: string }>(
    `select schemaname || '.' || relname as name, pg_total_relation_size(relid) as size from pg_stat_user_tables`,
  )
  return new Map(rows.map(({ name, size }) => [name.replace(/^public\./, ''), Number(size)]))
}

function growthOf(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>, hours: number) {
  const grown = [...after].map(([name, size]): [string, number] => [
    name,
    Math.round((size - (before.get(name) ?? 0)) / hours),
  ])
  return Object.fromEntries(grown.filter(([, size]) => size >= 1_000_000).sort(([, a], [, b]) => b - a))
}

/** Tables whose rows docs/reference/retention.md deletes by their age. */
const aged = ['events', 'audit_log', 'decisions', 'webhook_deliveries', 'policy_stats', 'mails']

/** Runs the actor `retention` as if 500 days had passed, and 50 more. */
async function passTime({ config, workers }: Stage, superuser: pg.Client): Promise<Abuse['retention']> {
  await Promise.all(workers.map((worker) => worker.kill('SIGKILL')))
  const count = async (table: string) =>
    Number((await superuser.query(`select count(*) as n from ${table}`)).rows[0].n)
  const rows: Abuse['retention'] = {}
  for (const table of aged) rows[table] = { before: await count(table), after: 0 }
  // A delivery that is still open ends with its event, and is kept for a time after that.
  for (const days of [500, 550]) {
    const deps = await openWorkerDeps(config, pino({ level: 'silent' }), () => Date.now() + days * aDay)
    await deleteOutdated(deps).finally(() => deps.close())
  }
  for (const table of aged) rows[table]!.after = await count(table)
  return rows
}
