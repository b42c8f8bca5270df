import { cpuOf, cpuOfTree, memoryOf } from './cpu.ts'
import { percentile } from './percentile.ts'
import { freshTokens, generate, type Stage } from './stage.ts'
import type { Suite } from './suites.ts'

/** The figures of a suite: rates per second, latencies in ms, CPU in ms per request, memory in MB. */
const keys = ['per_second', 'p50_ms', 'p99_ms', 'server_cpu_ms', 'postgres_cpu_ms', 'rss_mb'] as const
export type Figures = Record<(typeof keys)[number], number> & {
  /** The rate, divided by that of the suite `over` of the same round: the median of the rounds. */
  ratio?: number
  /** Of the medians, server and Postgres together. */
  cpu_ratio?: number
}
export type Results = Record<string, Figures>

/**
 * Runs all suites once in each round, and begins each round with another one, so that a busy minute affects all of them.
 * Figures are medians of the rounds.
 */
export async function measureRequests(
  stage: Stage,
  chosen: Suite[],
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Results> {
  const measured: Results[] = []
  for (const suite of chosen) await warmUp(stage, suite)
  const tokens = { accounts: stage.accounts, from: 0 }
  const withTokens = async ({ spends }: Suite): Promise<Stage> => {
    if (spends || performance.now() - tokens.from > tokensKeptMs) {
      tokens.accounts = (await freshTokens(stage)).accounts
      tokens.from = spends ? 0 : performance.now()
    }
    return { ...stage, accounts: tokens.accounts }
  }
  for (let round = 0; round < rounds; round++) {
    const first = (round * 2) % chosen.length
    const order = [...chosen.slice(first), ...chosen.slice(0, first)]
    const results: Results = {}
    for (const suite of order)
      results[suite.name] = await measureSuite(await withTokens(suite), suite, seconds)
    measured.push(results)
  }
  return summarise(chosen, measured)
}

/** An access token lives for 15 minutes. */
const tokensKeptMs = 5 * 60_000

async function warmUp(stage: Stage, suite: Suite): Promise<void> {
  const { accounts } = await freshTokens(stage)
  await generate({ ...suite.load(accounts), url: stage.servers[suite.server]!.url, seconds: 1 })
}

async function measureSuite(stage: Stage, suite: Suite, seconds: number): Promise<Figures> {
  const { url, pid } = stage.servers[suite.server]!
  const before = { server: cpuOf(pid), postgres: cpuOfTree(stage.postgresPid) }
  const loaded = await generate({ ...suite.load(stage.accounts), url, seconds })
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

function summarise(chosen: Suite[], rounds: Results[]): Results {
  const results: Results = {}
  for (const { name } of chosen) {
    const figures = keys.map((key) => [key, medianOf(rounds.map((round) => round[name]![key]))])
    results[name] = Object.fromEntries(figures) as Figures
  }
  for (const { name, over } of chosen) {
    if (!over || !results[over]) continue
    const ratio = medianOf(rounds.map((round) => round[name]!.per_second / round[over]!.per_second))
    if (Number.isFinite(ratio)) results[name]!.ratio = ratio // none if the other finished no request in a round
    results[name]!.cpu_ratio = rounded(cpu(results[name]!) / cpu(results[over]))
  }
  return results
}

const cpu = ({ server_cpu_ms, postgres_cpu_ms }: Figures) => server_cpu_ms + postgres_cpu_ms
const medianOf = (values: number[]) => rounded(percentile(values, 0.5))
export const rounded = (value: number) => Number(value.toPrecision(3))

/** The median and 99th percentile (ms) of requests that one client sends one after the other, after as long to warm up. */
export async function measureSingle(stage: Stage, suite: Suite, seconds: number) {
  const alone = { ...stage, accounts: stage.accounts.slice(0, 1) }
  const { url } = stage.servers[suite.server]!
  const once = async () => generate({ ...suite.load((await freshTokens(alone)).accounts), url, seconds })
  await once()
  const { p50, p99 } = await once()
  return { p50: rounded(p50), p99: rounded(p99) }
}
