import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { defaulted, flag, namesOf, optional, wholeNumber } from '../src/cli/options.ts'
import { scriptOptions } from '../src/cli/script-options.ts'
import { reportAndExit } from '../src/start/stop-signal.ts'
import { measureConnections } from './connections.ts'
import { measureCurves } from './curves.ts'
import { measureDecisions } from './decisions.ts'
import { measureDistributed } from './distributed.ts'
import { applicationPolicies, opaQuestion } from './evaluation.ts'
import { measureMemory } from './memory.ts'
import { measureOAuth } from './oauth.ts'
import { startOpa } from './opa-server.ts'
import { measurePages } from './pages.ts'
import { measurePlanSlices, measurePlans } from './plans.ts'
import type { Recording } from './recordings.ts'
import { measureRequests, measureSingle, type Results, rounded } from './requests.ts'
import { machine, type Section, table, writeSection } from './results.ts'
import { freePort, openStage, postAs, type Stage } from './stage.ts'
import { measureStart } from './start.ts'
import { type Suite, suites } from './suites.ts'

// npm run bench: a load generator with 32 clients, in a separate process, against an API and a durable embedded Postgres on
// this machine. `--quick` leaves out what takes long, and ends within five minutes. `--only` names parts or suites.
// `--write` puts the figures into RESULTS.md; `--profile` leaves a .cpuprofile of the API in the working directory.

const parts = [
  'decisions',
  'requests',
  'single',
  'pages',
  'connections',
  'oauth',
  'start',
  'flood',
  'abuse',
  'events',
  'distributed',
  'curves',
  'plans',
  'memory',
] as const
type Part = (typeof parts)[number]
const quickParts: readonly Part[] = ['decisions', 'requests', 'single', 'start']

const count = wholeNumber(1, 10_000)
const values = scriptOptions('bench', {
  seconds: optional('<n>', 'Seconds of a round', count),
  rounds: defaulted('<n>', 'Rounds', count, 5),
  clients: defaulted('<n>', 'Clients at a time', count, 32),
  minutes: defaulted('<n>', 'Minutes of the part memory', count, 10),
  only: optional(
    '<name>,...',
    'These parts and suites',
    namesOf([...parts, ...suites.map(({ name }) => name)]),
  ),
  quick: flag('Only parts that end within five minutes'),
  json: flag('Print JSON'),
  profile: flag('Leave a .cpuprofile of the API'),
  write: flag('Put the figures into RESULTS.md'),
})
const { rounds } = values
const seconds = values.seconds ?? (values.quick ? 1 : 5)
const on = machine()

async function main() {
  const names = values.only
  const chosenSuites = choose(names?.filter((name) => !isPart(name)))
  const chosen = names
    ? parts.filter(
        (part) => names.includes(part) || (part === 'requests' && names.some((name) => !isPart(name))),
      )
    : values.quick
      ? quickParts
      : parts
  for (const part of chosen) report(await measure[part](chosenSuites))
  console.error(`Measured on ${on}.`)
}

const isPart = (name: string): name is Part => parts.some((part) => part === name)

/** The named suites and those by whose rates theirs are divided; all if no suite is named. */
function choose(names: string[] | undefined): Suite[] {
  const usual = values.quick ? suites.filter(({ name }) => !/-\d+$/.test(name)) : suites
  if (!names?.length) return usual
  const over = suites.filter((suite) => names.includes(suite.name)).map((suite) => suite.over)
  return suites.filter(({ name }) => names.includes(name) || over.includes(name))
}

interface Measured {
  sections: Section[]
  data: unknown
}

function report({ sections, data }: Measured): void {
  if (values.json) console.log(JSON.stringify(data))
  for (const section of sections) {
    if (!values.json) console.log(`\n${section.title}\n\n${section.text}`)
    if (values.write) writeSection(section, on)
  }
}

const section = (title: string, text: string, data: unknown): Measured => ({
  sections: [{ title, text }],
  data,
})

const measure: Record<Part, (chosen: Suite[]) => Promise<Measured>> = {
  async decisions() {
    const decisions = await measureDecisions(rounds)
    const rows = Object.entries(decisions).map(([question, figures]) => ({ question, ...figures }))
    const about = 'µs in the process; of these input, module and answer are parts. Memory in MB.'
    return section('Decisions', `${about}\n\n${table(rows)}`, decisions)
  },
  requests: (chosen) =>
    withStage(async (stage) => {
      if (chosen.some(({ server }) => server === 'opa')) await addOpa(stage)
      const results = await measureRequests(stage, chosen, { rounds, seconds })
      const about = `Medians of ${rounds} rounds of ${seconds} s, ${values.clients} clients. \`ratio\` is of the rates, \`cpu_ratio\` of the CPU.`
      const described = chosen.map(({ name, about }) => `- \`${name}\`: ${about}`).join('\n')
      return {
        sections: [
          { title: 'Requests', text: `${about}\n\n${table(rowsOf(chosen, results))}\n\n${described}` },
          { title: 'Statements', text: statementsOf(stage.recordings) },
        ],
        data: results,
      }
    }),
  single: () =>
    withStage(async (stage) => {
      const rows: Record<string, string | number>[] = []
      const measure = (name: string | undefined) => {
        const suite = suites.find((suite) => suite.name === name)
        return suite && measureSingle(stage, suite, Math.min(seconds, 3))
      }
      for (const name of ['me', 'members', 'refresh', 'switch', 'login']) {
        const { over } = suites.find((suite) => suite.name === name)!
        const [least, own] = [await measure(over), await measure(name)]
        const ratio = rounded(own!.p50 / least!.p50)
        rows.push({ request: name, ...own, 'p50 of': least!.p50, ratio, of: over! })
      }
      const evaluation = await measure('evaluation')
      rows.push({ request: 'evaluation', ...evaluation, 'p50 of': '', ratio: '', of: '' })
      const about =
        'ms, one client. `ratio` is of the medians: of the request and of what it is compared with.'
      return section('One request at a time', `${about}\n\n${table(rows)}`, rows)
    }),
  pages: () =>
    withStage(async (stage) => {
      const rows = await measurePages(stage, values.quick ? 60 : 800)
      const about =
        'ms, one browser. A form includes the page that it leads to. `p99 beside`: without the hash of a password (the p99 of a bare comparison in the same run), and without the time that hides whether an address is used.'
      return section('Pages', `${about}\n\n${table(rows)}`, rows)
    }),
  connections: () =>
    withStage(async (stage) => {
      const rows = await measureConnections(stage, values.quick ? 500 : 2_000)
      const about =
        'ms, one browser, in turns beside one connection and beside 10,000 of as many tenants, each with a domain. A form includes the page that it leads to.'
      return section('Connections', `${about}\n\n${table(rows)}`, rows)
    }),
  oauth: () =>
    withStage(async (stage) => {
      const rows = await measureOAuth(stage, values.quick ? 700 : 1_200)
      const about =
        'CPU in ms for each request of an application, of the API and of Postgres, and of `oidc-provider` with its models in memory. `ratio` is without the signature of the ID token (RS256, 3,072 bits), which both make.'
      return section('OpenID Connect', `${about}\n\n${table(rows)}`, rows)
    }),
  start: () =>
    withStage(async (stage) => {
      const started = await measureStart(stage, rounds)
      const row = {
        'ms until /readyz answers': Math.round(started.ms),
        'MB when idle': Math.round(started.idleMb),
      }
      const about = 'The API alone, on a migrated database that runs, after starts before it.'
      return section('Start', `${about}\n\n${table([row])}`, started)
    }),
  async flood() {
    const { flood, noise } = await script('overload.ts', [
      '--json',
      '--seconds',
      String(Math.max(seconds, 5)),
    ])
    const row = (probe: string, idle: Probe, during: Probe) => ({
      probe,
      'p50 idle': rounded(idle.p50),
      'p50 during': rounded(during.p50),
      'p99 idle': rounded(idle.p99),
      'p99 during': rounded(during.p99),
    })
    const rows = [
      row('/healthz, login flood', flood.idle.health, flood.during.health),
      row('users/me, login flood', flood.idle.me, flood.during.me),
      row('users/me, noisy neighbour', noise.idle, noise.during),
    ]
    const about = `ms. The flood: 256 connections that log in at 1,000 a second. Memory ${Math.round(flood.memoryBefore)} → at most ${Math.round(flood.memory)} MB.`
    return section('Floods', `${about}\n\n${table(rows)}`, { flood, noise })
  },
  async abuse() {
    const { rows, abouts } = await script('abuse.ts', ['--json', '--seconds', String(Math.max(seconds, 5))])
    const described = abouts.map((about: string) => `- ${about}`).join('\n')
    const about =
      'Medians of three runs, in ms: the p99 of /healthz, and the longest turn of the event loop. `answers`: of the last run, answered/refused/failed.'
    return section('Abuse', `${about}\n\n${table(rows)}\n\n${described}`, rows)
  },
  async events() {
    const runs = [await script('deliveries.ts', ['--events', '3000'])]
    if (existsSync('/usr/bin/redis-server'))
      runs.push(await script('deliveries.ts', ['--redis', '--events', '3000']))
    const about =
      'Events per second: a backlog of 12,000 that a worker fans out to the feed; from the transaction that writes them to the receiver of webhooks, of which each gets its events one after the other; ms from commit to receiver for one alone.'
    return section('Events', `${about}\n\n${table(runs)}`, runs)
  },
  async distributed() {
    const options = { rounds: Math.min(rounds, 3), seconds: Math.min(seconds, 2), tenants: [0, 10_000] }
    const found = await measureDistributed(options, (line) => console.error(line))
    if (!found) return section('A distributed Postgres', 'skipped: Citus is not installed', null)
    const rows = found.flatMap(({ servers, tenants, costs }) =>
      costs.map((cost) => ({ servers, tenants, ...cost })),
    )
    const about =
      'CPU in ms for each request, of the API, the coordinator and the nodes. `one shard`: the share of the statements on tables of tenants and people.'
    return section('A distributed Postgres', `${about}\n\n${table(rows)}`, found)
  },
  async curves() {
    const large = values.quick ? [] : [1_000_000]
    const points = await measureCurves(
      {
        seconds: Math.min(seconds, 3),
        connections: [32, 256, 1_000],
        members: [100, 10_000, 100_000],
        users: [10_000, 100_000, ...large],
      },
      (line) => console.error(line),
    )
    return section('Curves', table(points as never), points)
  },
  async plans() {
    const sizes = values.quick ? [100, 10_000] : [100, 10_000, 1_000_000]
    const most = 100_000
    const slices = await measurePlanSlices(rounds)
    const costs = await measurePlans(sizes, most, (line) => console.error(line))
    const about = `All rows that a customer may see, one in a hundred: five policies, by owner and site with indexes. The last three ways examine the first ${most.toLocaleString('en')} rows of a larger table.`
    const inside =
      'µs in the process, by the policies of the slice, all about the subject. A fifth of them is left in the filter.'
    return {
      sections: [
        {
          title: 'Plans',
          text: `${about}\n\n${table(costs as never)}\n\n${inside}\n\n${table(slices as never)}`,
        },
      ],
      data: { costs, slices },
    }
  },
  async memory() {
    const seen = await measureMemory(values.minutes)
    const about = `MB of the API over ${values.minutes} minutes of mixed load (16 clients: reads, lists, rotation, switches, logins), every 30 s; first before the load.`
    return section('Memory', `${about}\n\n${seen.join(' ')}`, seen)
  },
}

interface Probe {
  p50: number
  p99: number
}

async function withStage(work: (stage: Stage) => Promise<Measured>): Promise<Measured> {
  const stage = await openStage(values.clients, values.profile ? ['--cpu-prof'] : [])
  try {
    return await work(stage)
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

const rowsOf = (chosen: Suite[], results: Results) =>
  chosen.map(({ name, over }) => {
    const { ratio = '', cpu_ratio = '', ...figures } = results[name]!
    return { request: name, ...figures, ratio, cpu_ratio, of: ratio === '' ? '' : over! }
  })

function statementsOf(recordings: Record<string, Recording>): string {
  const rows = Object.entries(recordings).map(([request, { flushes }]) => ({
    request,
    'round trips': flushes.length,
    statements: flushes.flat().length,
  }))
  return `Sent to Postgres for one request, with what is written after the answer (the decision log).\n\n${table(rows)}`
}

/** Runs another benchmark of this folder and gives what it prints last. */
// biome-ignore lint/suspicious/noExplicitAny: figures of another script
async function script(name: string, args: string[]): Promise<any> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, name), ...args], {
    maxBuffer: 16 * 1024 * 1024,
  })
  return JSON.parse(stdout.trim().split('\n').at(-1)!)
}

main().catch(reportAndExit)
