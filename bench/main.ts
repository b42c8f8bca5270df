import { readFileSync, writeFileSync } from 'node:fs'
import { arch, availableParallelism, loadavg, platform } from 'node:os'
import { parseArgs } from 'node:util'
import { reportAndExit } from '../src/stop-signal.ts'
import { cpuOf, cpuOfTree, memoryOf } from './cpu.ts'
import { measureDecisions, printDecisions } from './decisions.ts'
import { applicationPolicies, opaQuestion } from './evaluation.ts'
import { startOpa } from './opa-server.ts'
import { freePort, freshTokens, generate, openStage, postAs, type Stage } from './stage.ts'
import { type Suite, suites } from './suites.ts'

// npm run bench: a load generator with 32 clients, in a separate process, against an API and a durable embedded Postgres
// on this machine. Each figure is the median of the rounds. The suites alternate, so that a busy minute affects all of
// them. First come decisions in the process. --write stores the figures as baseline; --profile leaves a .cpuprofile of the
// API in the working directory.

/** The figures of a suite: rates per second, latencies in ms, CPU in ms per request, memory in MB. */
const keys = ['per_second', 'p50_ms', 'p99_ms', 'server_cpu_ms', 'postgres_cpu_ms', 'rss_mb'] as const
type Figures = Record<(typeof keys)[number], number> & { ratio?: number }
type Results = Record<string, Figures>

const baselineFile = new URL('baseline.json', import.meta.url)
const warmUpSeconds = 1
const decisionRounds = 5

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    clients: { type: 'string', default: '32' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})

async function main() {
  const only = values.only?.split(',')
  const decisions = !only || only.includes('decisions') ? await measureDecisions(decisionRounds) : undefined
  if (decisions && !values.json) printDecisions(decisions)
  if (only?.join() === 'decisions') {
    if (values.json) console.log(JSON.stringify({ machine, busy, decisions }))
    return
  }
  const chosen = choose(only?.filter((name) => name !== 'decisions'))
  const stage = await openStage(Number(values.clients), values.profile ? ['--cpu-prof'] : [])
  try {
    if (chosen.some(({ server }) => server === 'opa')) await addOpa(stage)
    const rounds: Results[] = []
    for (let round = 0; round < Number(values.rounds); round++) rounds.push(await runRound(stage, chosen))
    const results = addRatios(chosen, medians(chosen, rounds))
    const report = {
      machine,
      busy,
      clients: Number(values.clients),
      rounds: rounds.length,
      results,
      decisions,
    }
    if (values.write) writeFileSync(baselineFile, `${JSON.stringify(report, null, 2)}\n`)
    if (values.json) console.log(JSON.stringify(report))
    else print(chosen, results)
  } finally {
    await stage.servers.opa?.stop()
    await stage.close()
  }
}

/** Adds `opa run --server` to the stage, and gives each client's tenant the same policies. */
async function addOpa(stage: Stage) {
  for (const { access } of stage.accounts)
    for (const policy of applicationPolicies)
      await postAs(access, `${stage.servers.api.url}/api/v1/policies/`, policy)
  stage.servers.opa = await startOpa(opaQuestion().slice, await freePort())
}

const machine = `${platform()} ${arch()}, ${availableParallelism()} cores shared by load, server and Postgres, Node ${process.versions.node.split('.')[0]}`

// On a busy machine the rates mean little; the ratios mean more.
const busy = `load average ${loadavg()[0]?.toFixed(1)} before the first round`

/** The named suites and the suites by whose rates they are divided. */
function choose(names: string[] | undefined): Suite[] {
  if (names === undefined) return suites
  const unknown = names.find((name) => !suites.some((suite) => suite.name === name))
  if (unknown)
    throw new Error(
      `Unknown suite ${unknown}. The suites are: decisions, ${suites.map(({ name }) => name).join(', ')}`,
    )
  const over = suites.filter((suite) => names.includes(suite.name)).map((suite) => suite.over)
  return suites.filter(({ name }) => names.includes(name) || over.includes(name))
}

async function runRound(stage: Stage, chosen: Suite[]): Promise<Results> {
  const results: Results = {}
  for (const suite of chosen) {
    const { url } = stage.servers[suite.server]!
    await generate({ ...suite.load((await freshTokens(stage)).accounts), url, seconds: warmUpSeconds })
    results[suite.name] = await measure(await freshTokens(stage), suite)
  }
  return results
}

async function measure(stage: Stage, suite: Suite): Promise<Figures> {
  const { pid, url } = stage.servers[suite.server]!
  const before = { server: cpuOf(pid), postgres: cpuOfTree(stage.postgresPid) }
  const loaded = await generate({ ...suite.load(stage.accounts), url, seconds: Number(values.seconds) })
  if (loaded.failed > 0) throw new Error(`${suite.name}: ${loaded.failed} requests failed`)
  const each = (ms: number) => ms / Math.max(1, loaded.requests)
  return {
    per_second: loaded.perSecond,
    p50_ms: loaded.p50,
    p99_ms: loaded.p99,
    server_cpu_ms: each(cpuOf(pid) - before.server),
    postgres_cpu_ms: each(cpuOfTree(stage.postgresPid) - before.postgres),
    rss_mb: memoryOf(pid),
  }
}

function medians(chosen: Suite[], rounds: Results[]): Results {
  const entries = chosen.map(({ name }) => {
    const figures = keys.map((key) => [key, rounded(median(rounds.map((round) => round[name]![key])))])
    return [name, Object.fromEntries(figures)]
  })
  return Object.fromEntries(entries)
}

function addRatios(chosen: Suite[], results: Results): Results {
  for (const { name, over } of chosen)
    if (over && results[over]?.per_second)
      results[name]!.ratio = rounded(results[name]!.per_second / results[over].per_second)
  return results
}

const median = (numbers: number[]) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
const rounded = (value: number) => Number(value.toPrecision(3))

function print(chosen: Suite[], results: Results) {
  const baseline: { machine?: string; results: Results } = JSON.parse(readFileSync(baselineFile, 'utf8'))
  const rows = chosen.map(({ name, over }) => {
    const { per_second, ratio, ...rest } = results[name]!
    const was = baseline.results[name]?.per_second
    const compared = was === undefined ? '' : `${rounded(per_second / was)} ×`
    return {
      suite: name,
      'per s': per_second,
      baseline: compared,
      ...rest,
      ratio: ratio ? `${ratio} of ${over}` : '',
    }
  })
  for (const { name, about } of chosen) console.log(`${name.padEnd(8)} ${about}`)
  console.table(Object.fromEntries(rows.map(({ suite, ...row }) => [suite, row])))
  console.log(`This machine: ${machine}, ${busy}. Baseline: ${baseline.machine}.`)
}

main().catch(reportAndExit)
