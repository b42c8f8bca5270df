import { setTimeout as sleep } from 'node:timers/promises'
import { defaulted, flag, optional, wholeNumber } from '../../src/cli/options.ts'
import { refuseUsage, scriptOptions } from '../../src/cli/script-options.ts'
import { reportAndExit } from '../../src/start/stop-signal.ts'
import { measureAbuse } from './abuse.ts'
import { type Fault, faults, fullDisk, redisFaults } from './faults.ts'
import { Client, type Journal, newJournal, startLoad } from './load.ts'
import { type Growth, measureGrowth, memory } from './memory.ts'
import { openStage, type Stage } from './stage.ts'
import { type Found, settle, verify } from './verify.ts'

// npm run chaos: breaks one thing after the other under a steady mixed load, and counts what was lost. --quick breaks
// each for a shorter time, --redis has queues and limits on Redis, --minutes adds a steady load at the end, to see the
// memory grow; `--only none` only that. Exits with 1 when something was lost, when a recovery took more than 10 s, or when a
// request failed in a rolling restart. `--abuse 10` lets one tenant spend all its limits for ten minutes instead.

const minutes = wholeNumber(0, 10_000)
const values = scriptOptions('chaos', {
  quick: flag('Break each thing for a shorter time'),
  redis: flag('Queues and limits on Redis'),
  only: optional('<fault>', 'The faults with this in their names, or none'),
  minutes: defaulted('<n>', 'Then measure how memory grows', minutes, 0),
  abuse: optional('<n>', 'Instead, let one tenant spend all its limits for this many minutes', minutes),
  json: flag('Print JSON'),
})

const clientCount = 6
const pauseMs = 100
const longestRecovery = 10
/** Failed requests that are printed. */
const longestList = 30

/** What happened at a fault. Times in s; without a recovery the time is infinite. */
interface Outcome {
  fault: string
  recovery: number
  unanswered: number
  answered_5xx: number
}

async function main(): Promise<void> {
  if (values.abuse !== undefined) return letAbuse(values.abuse)
  const chosen = choose()
  const stage = await openStage({ withRedis: values.redis, withSmallDisk: chosen.includes(fullDisk) })
  const journal = newJournal()
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => void stage.stop().finally(() => process.exit(1)))
  try {
    const clients = Array.from({ length: clientCount }, (_, number) => new Client(stage, journal, number))
    for (const client of clients) await client.begin()
    const load = startLoad(clients, pauseMs)
    await sleep(3_000)
    const before = memory(stage)
    const outcomes: Outcome[] = []
    for (const fault of chosen)
      if (fault !== fullDisk || stage.smallDisk) outcomes.push(await during(stage, journal, fault))
      else say(`  ${fault.name}: left out, because it takes root to mount a file system`)
    const growth = await measureGrowth(stage, values.minutes)
    const after = memory(stage)
    await load.stop()
    say('  the load ended; waiting for the workers')
    await settle(stage, 330_000)
    const found = await verify(stage, journal, await stage.superuserUrl())
    report(chosen, { outcomes, found, journal, memory: { before, after }, growth })
  } finally {
    await stage.stop()
  }
}

/** One tenant spends all its limits for some minutes. Its neighbour may become twice as slow. */
async function letAbuse(minutes: number): Promise<void> {
  const stage = await openStage({ withRedis: values.redis, withLimits: true })
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => void stage.stop().finally(() => process.exit(1)))
  try {
    const neighbour = new Client(stage, newJournal(), 0)
    await neighbour.begin()
    const found = await measureAbuse(stage, neighbour, minutes)
    console.log(JSON.stringify(found, null, values.json ? 0 : 2))
    // A table that the abuser did not fill says nothing about its retention.
    const unproven = Object.values(found.retention).some(({ before, after }) => before === 0 || after > 0)
    const failed = found.p99_factor > 2 || found.beside.failed > 0 || unproven
    if (failed) process.exitCode = 1
  } finally {
    await stage.stop()
  }
}

const say = (line: string) => values.json || console.log(line)

function choose(): Fault[] {
  const all = [...(values.redis ? redisFaults : []), ...faults, fullDisk]
  if (!values.only) return all
  if (values.only === 'none') return []
  const chosen = all.filter(({ name }) => name.includes(values.only!))
  if (chosen.length === 0)
    refuseUsage(
      'chaos',
      `No fault is called ${values.only}. There are: ${all.map(({ name }) => name).join('; ')}`,
    )
  return chosen
}

async function during(stage: Stage, journal: Journal, fault: Fault): Promise<Outcome> {
  const count = (names: RegExp) =>
    [...journal.outcomes].reduce((sum, [name, n]) => sum + (names.test(name) ? n : 0), 0)
  const before = { unanswered: count(/no answer/), failed: count(/^5/) }
  await fault.happen(stage, !values.quick)
  const mended = performance.now()
  const recovery = await recovered(stage, journal, mended)
  await sleep(2_000)
  const outcome = {
    fault: fault.name,
    recovery: Math.round(recovery / 100) / 10,
    unanswered: count(/no answer/) - before.unanswered,
    answered_5xx: count(/^5/) - before.failed,
  }
  say(`  ${fault.name}: recovered after ${outcome.recovery} s`)
  return outcome
}

/** The time (ms) until both APIs have written something after the fault was mended. */
async function recovered({ apis }: Stage, journal: Journal, since: number): Promise<number> {
  for (let tries = 0; tries < 600; tries++, await sleep(100)) {
    const first = apis.map((_, api) => journal.written.find((one) => one.api === api && one.at >= since)?.at)
    if (first.every((at) => at !== undefined)) return Math.max(...first.map((at) => at! - since))
  }
  return Number.POSITIVE_INFINITY
}

interface Report {
  outcomes: Outcome[]
  found: Found
  journal: Journal
  memory: { before: number[]; after: number[] }
  growth: Growth
}

function report(chosen: readonly Fault[], { outcomes, found, journal, memory, growth }: Report): void {
  const { mails, deliveries, mails_twice, deliveries_twice, ...fatal } = found
  // A worker that is killed after the mail server took a mail, and before it could note that, sends it again.
  const mailConcurrency = 5
  const mailsAllowed = mailConcurrency * chosen.reduce((sum, { kills }) => sum + kills, 0)
  const slow = outcomes.filter(({ recovery }) => recovery > longestRecovery)
  const bad = Object.entries(fatal).filter(([, n]) => n !== 0)
  const rough = outcomes.filter(
    ({ fault, unanswered, answered_5xx }) =>
      unanswered + answered_5xx > 0 && chosen.some(({ name, isSmooth }) => name === fault && isSmooth),
  )
  const failed = bad.length + slow.length + rough.length > 0 || mails_twice > mailsAllowed
  const acknowledged = { roles: journal.roles.length, people: journal.registered.length, deliveries, mails }
  const { relogins } = journal
  const sent = Object.fromEntries(journal.outcomes)
  if (values.json)
    console.log(
      JSON.stringify({
        acknowledged,
        sent,
        relogins,
        outcomes,
        found,
        memory,
        growth,
        failed,
        failures: journal.failures.slice(0, longestList),
      }),
    )
  else {
    console.table(outcomes)
    console.table({ ...found, mails_twice_allowed: mailsAllowed })
    console.log('acknowledged', acknowledged, 'answers', sent, 'logged in again', relogins)
    if (journal.failures.length > 0) console.table(journal.failures.slice(0, longestList))
    console.log('memory in MB (APIs, workers) before', memory.before, 'after', memory.after)
    for (const [name, grown] of Object.entries(growth)) console.log(name, JSON.stringify(grown))
    console.log(failed ? 'FAILED' : 'Nothing was lost.')
  }
  if (failed) process.exitCode = 1
}

main().catch(reportAndExit)
