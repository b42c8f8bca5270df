import { glob, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { defaulted, flag, wholeNumber } from '../../src/cli/options.ts'
import { scriptArguments } from '../../src/cli/script-options.ts'
import { buildConsole } from '../console/bundle.ts'
import { findCitus, startCitusCluster } from './citus-cluster.ts'
import { onePlan, startTestCluster, type TestCluster } from './test-cluster.ts'
import { runInProcesses, type TestFile, type TestRun } from './test-processes.ts'
import { type FileResult, totalsOf } from './test-report.ts'

// npm test: all test files run in a few processes, on one temporary cluster.

const root = join(import.meta.dirname, '..', '..')
const timesFile = join(root, '.cache', 'test-times.json')
const slowestShown = 20
/** What `npm test` leaves out and `npm run test:all` does not. */
const nightly = [
  'test/chaos/',
  'test/distributed/',
  'test/upgrade/',
  'test/database/plans.test.ts',
  'test/database/pooler.test.ts',
  'test/start/development/embedded-postgres.test.ts',
  'test/start/development/postgres-binaries.test.ts',
  'test/tools/release/make-release.test.ts',
  'test/tools/release/release-files.test.ts',
]
const isNightly = (file: string) => nightly.some((part) => file.startsWith(part))
/** Runs only by name, with `npm run test:interop`: it installs packages. */
const isInterop = (file: string) => file.startsWith('test/interop/')
/** What `npm run test:distributed` runs on a Citus cluster. Left out is what reads plans, which Citus writes as text. */
const onCitus = [
  'test/distributed',
  'test/adversary/sign-in.test.ts',
  'test/identity',
  'test/database/rows.test.ts',
  'test/tenancy/departments',
  'test/tenancy/foreign-ids.test.ts',
  'test/tenancy/invitations',
  'test/tenancy/members',
  'test/tenancy/roles',
  'test/tenancy/service-accounts',
  'test/tenancy/tenants',
  'test/tenancy/versions.test.ts',
  'test/authorization/attributes.test.ts',
  'test/authorization/decisions.test.ts',
  'test/authorization/policies.test.ts',
  'test/authorization/two-processes.test.ts',
  'test/events/feed',
  'test/events/webhooks/deliver-once.test.ts',
  'test/events/webhooks/fan-out.test.ts',
]

let run: TestRun | undefined
let cluster: Pick<TestCluster, 'remove' | 'sockets'> | undefined
let interrupted = false
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt(name))
// A pager or `head` can close stdout early: stop the tests and clean up.
process.stdout.on('error', () => interrupt('SIGTERM'))

function interrupt(name: NodeJS.Signals): void {
  interrupted = true
  run?.end(name)
}

try {
  process.exitCode = await test()
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
} finally {
  await cluster?.remove()
}

async function test(): Promise<number> {
  const { options: values, words } = scriptArguments('test', {
    all: flag('The nightly tests, too'),
    distributed: flag('On a distributed Postgres'),
    // More than cores, because half of their time tests wait: for Postgres, a browser, or a time to pass.
    jobs: defaulted('<n>', 'Number of parallel processes', wholeNumber(1, 99), 4),
  })
  const times = JSON.parse(await readFile(timesFile, 'utf8').catch(() => '{}')) as Record<string, number>
  const citus = values.distributed ? await findCitus() : null
  if (values.distributed && !citus) {
    console.log('skipped: Citus is not installed in /usr/lib/postgresql')
    return 0
  }
  const named = values.distributed && words.length === 0 ? onCitus : words
  const files = await chooseFiles(named, values.all, times)
  await buildConsole() // for the tests that open its pages
  const servers = citus
    ? await startCitus(citus)
    : [process.env.TEST_DATABASE_URL || (await startCluster(files))]
  const [url, ...workers] = servers
  if (interrupted) return 130
  run = runInProcesses(files, {
    jobs: Math.min(values.jobs, files.length),
    // Processes share compiled code. Go collects garbage less often: opa takes three quarters of the processor time that
    // it took before, and 150 MB. Tests have no time limit, because a slow machine must not fail them.
    env: {
      NODE_COMPILE_CACHE: join(root, '.cache', 'compiled'),
      NODE_COMPILE_CACHE_PORTABLE: '1', // as entry.cjs has it
      GOGC: '400',
      ...process.env,
      TEST_DATABASE_URL: url,
      ...(cluster?.sockets && { TEST_DATABASE_SOCKETS: cluster.sockets }),
      ...(citus && { TEST_CITUS_WORKERS: workers.join() }),
      TAP_TIMEOUT: '0',
      TEST_LONG: String(values.all),
      TEST_LOOK: String(values.all || words.length > 0),
    },
    print: console.log,
  })
  await run.done
  if (interrupted) return 130
  await keepTimes(times, run.files)
  return conclude(run)
}

/**
 * The named files, or all below `test`. The slowest come first, so that no slow file runs alone at the end; before these,
 * those whose time is not known, the longest first.
 */
async function chooseFiles(
  named: readonly string[],
  all: boolean,
  times: Record<string, number>,
): Promise<TestFile[]> {
  const found = named.length > 0 ? await filesOf(named) : await filesOf([join(root, 'test')])
  const wanted = found.filter((file) => named.length > 0 || (!isInterop(file) && (all || !isNightly(file))))
  if (wanted.length === 0)
    throw new Error('There is no such test file. Run: npm test -- <file or folder> ...')
  const texts = new Map<string, string>()
  for (const file of wanted) texts.set(file, await readFile(resolve(root, file), 'utf8'))
  const rank = (file: string) => times[file] ?? 1_000_000 + texts.get(file)!.length
  return [...texts]
    .sort(([a], [b]) => rank(b) - rank(a))
    .map(([file, text]) => ({ file, alone: /^\/\/ own process: /m.test(text) }))
}

/** The named files, and the test files below named folders, as paths from the root of the checkout. */
async function filesOf(named: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const name of named.map((name) => resolve(name))) {
    const entry = await stat(name).catch(() => {
      throw new Error(`There is no ${relative(root, name)}. Run: npm test -- <file or folder> ...`)
    })
    if (!entry.isDirectory()) found.push(name)
    else for await (const file of glob('**/*.test.ts', { cwd: name })) found.push(join(name, file))
  }
  return found.map((file) => relative(root, file))
}

/** Starts a cluster and gives its address. The nightly tests have large tables, which need the plans of production. */
async function startCluster(files: readonly TestFile[]): Promise<string> {
  const started = await startTestCluster(files.some(({ file }) => isNightly(file)) ? {} : onePlan)
  cluster = started
  for (const note of started.notes) console.log(note)
  return started.superuserUrl
}

/** Starts a coordinator and two nodes; gives their addresses. */
async function startCitus(programs: string): Promise<string[]> {
  const started = await startCitusCluster(programs, 3)
  cluster = started
  return started.superuserUrls
}

/** Writes the seconds of each file, for the order of the next run and for people who make tests faster. */
async function keepTimes(known: Record<string, number>, files: readonly FileResult[]): Promise<void> {
  const times = {
    ...known,
    ...Object.fromEntries(files.map(({ file, ms }) => [file, Math.round(ms / 100) / 10])),
  }
  const sorted = Object.entries(times).sort(([, a], [, b]) => b - a)
  await mkdir(dirname(timesFile), { recursive: true })
  await writeFile(timesFile, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
}

/** Prints the summary; after a long run with the failures once more, so that they are at its end. Gives the exit code. */
function conclude({ files, skipped, failures }: TestRun): number {
  for (const skip of skipped) console.log(`skipped: ${skip}`)
  if (files.length > slowestShown) {
    console.log(`The ${slowestShown} slowest files (all: ${relative(process.cwd(), timesFile)}):`)
    const slowest = [...files].sort((a, b) => b.ms - a.ms).slice(0, slowestShown)
    for (const { file, ms } of slowest) console.log(`${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`)
    if (failures.length > 0) console.log(['The failures again:', ...failures].join('\n'))
  }
  const totals = totalsOf(files)
  console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
  if (totals.failed > 0 || files.some(({ ok }) => !ok)) return 1
  if (totals.skipped === 0 || !/^(1|true|yes)$/i.test(process.env.CI ?? '')) return 0
  console.error('CI is set: the tests that were skipped above must run here.')
  return 1
}
