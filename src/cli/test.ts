import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { removeEmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts'
import { createTestReport } from './test-report.ts'

// npm test: one throw-away cluster for all test files, then tap with the arguments given here.

const root = join(import.meta.dirname, '..', '..')
const require = createRequire(import.meta.url)
const tap = join(dirname(require.resolve('tap/package.json')), 'dist', 'esm', 'run.mjs')
const volatileSettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '400',
}

let child: ChildProcess | undefined
let interrupted = false
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    interrupted = true
    end(name)
  })
}

// Read by a pager or head that has seen enough: end what runs, and clean up.
process.stdout.on('error', () => {
  interrupted = true
  end('SIGTERM')
})

const folder = await mkdtemp(join(tmpdir(), 'bailiwick-test-'))
await chmod(folder, 0o711) // as root, the server is another user and has to pass through
try {
  process.exitCode = await test(folder, process.argv.slice(2))
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
} finally {
  await removeEmbeddedPostgres({ dataDir: folder })
  await rm(folder, { recursive: true, force: true })
}

async function test(folder: string, args: string[]): Promise<number> {
  const url = process.env.TEST_DATABASE_URL || (await startCluster(folder))
  if (!(await isBuilt())) await build()
  const fixed = ['--disable-coverage', '--reporter=tap', '--jobs=3', '--timeout=120']
  const report = createTestReport(console.log)
  const code = await runTap(['run', ...fixed, ...args], report.read, { url })
  const totals = report.totals()
  for (const skip of report.skipped) console.log(`skipped: ${skip}`)
  if (totals) console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
  if (code !== 0 || !totals) return code || 1
  if (totals.skipped === 0 || !/^(1|true|yes)$/i.test(process.env.CI ?? '')) return 0
  console.error('CI is set: what is skipped above has to run here.')
  return 1
}

async function startCluster(folder: string): Promise<string> {
  const { superuserUrl, notes } = await startEmbeddedPostgres({ dataDir: folder, settings: volatileSettings })
  for (const note of notes) console.log(note)
  return superuserUrl
}

/** tap compiles its set of plugins into node_modules. Until that fits .taprc, the first run of tap fails. */
async function isBuilt(): Promise<boolean> {
  const built = join(
    dirname(require.resolve('@tapjs/test/package.json')),
    'test-built',
    'dist',
    'esm',
    'index.js',
  )
  const [code, output, settings] = await Promise.all([
    readFile(built, 'utf8').catch(() => '@tapjs/typescript'),
    stat(join(root, '.tap', 'plugins')).catch(() => undefined),
    stat(join(root, '.taprc')),
  ])
  return !code.includes('@tapjs/typescript') && output !== undefined && output.mtimeMs > settings.mtimeMs
}

async function build(): Promise<void> {
  const said: string[] = []
  const code = await runTap(['build'], (line) => said.push(line), { quiet: true })
  if (code !== 0) throw new Error(`tap build failed:\n${said.join('\n')}`)
}

type Run = { url?: string; quiet?: boolean }

/** Its exit code; 130 once we were interrupted. `read` gets each line it prints; errors go past it unless quiet. */
async function runTap(args: string[], read: (line: string) => void, { url, quiet }: Run): Promise<number> {
  if (interrupted) return 130
  const running = spawn(process.execPath, [tap, ...args], {
    cwd: root,
    // Every test file is a process, and many start more: what one has compiled the next need not.
    env: {
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
      ...process.env,
      ...(url ? { TEST_DATABASE_URL: url } : {}),
    },
    stdio: ['ignore', 'pipe', quiet ? 'pipe' : 'inherit'],
    detached: process.platform !== 'win32',
  })
  child = running
  running.stderr?.on('data', (chunk) => read(String(chunk)))
  const lines = createInterface({ input: running.stdout! }).on('line', read)
  const [[code]] = await Promise.all([once(running, 'close'), once(lines, 'close')])
  return interrupted ? 130 : (code ?? 1)
}

/** The whole group of it: tap passes a signal on, but its test files wait for their tests. */
function end(name: NodeJS.Signals): void {
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  if (process.platform === 'win32') child.kill(name)
  else process.kill(-child.pid, name)
}
