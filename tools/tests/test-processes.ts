import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createTestReport, describeFile, type FileResult } from './test-report.ts'

const script = join(import.meta.dirname, 'test-process.ts')
/**
 * Fewer garbage collections cost less: by then most objects of a request are no longer used. With more processes than cores,
 * the helper threads of a collection mostly wait for each other: without them, files take 3 to 14 % less processor time.
 */
const options = ['--max-semi-space-size=64', '--single-threaded-gc']
/** A file without output for this long (ms) hangs. Even on a slow machine no file comes near it. */
const hangsAfter = 20 * 60_000

/** `alone`: the file needs its own process. */
export type TestFile = { file: string; alone: boolean }
export type TestRun = {
  files: FileResult[]
  skipped: string[]
  /** The printed lines of the failures, with their diagnostics. */
  failures: string[]
  /** Signals every running process, with its process group. */
  end(signal: NodeJS.Signals): void
  done: Promise<void>
}

/**
 * Runs test files in `jobs` parallel processes. Each takes the next file when it has finished one. Prints the lines of
 * the report.
 */
export function runInProcesses(
  files: readonly TestFile[],
  { jobs, env, print }: { jobs: number; env: NodeJS.ProcessEnv; print: (line: string) => void },
): TestRun {
  const waiting = [...files]
  const running = new Set<ChildProcess>()
  const all: Pick<TestRun, 'files' | 'skipped' | 'failures'> = { files: [], skipped: [], failures: [] }
  let ended = false

  /** Starts one process and gives it files until none are left, or until a file needs its own process. */
  async function runProcess(): Promise<void> {
    const child = spawn(process.execPath, [...options, script], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: process.platform !== 'win32',
    })
    running.add(child)
    child.stdin?.on('error', () => undefined) // the process crashed; its exit is handled below
    const report = createTestReport(print)
    let current: TestFile | undefined
    let patience: NodeJS.Timeout | undefined
    const next = () => {
      const full = current?.alone || (current && waiting[0]?.alone)
      current = ended || full ? undefined : waiting.shift()
      if (current) child.stdin?.write(`${current.file}\n`)
      else child.stdin?.end()
    }
    const lines = createInterface({ input: child.stdout! }).on('line', (line) => {
      const before = report.files.length
      report.read(line)
      clearTimeout(patience)
      patience = setTimeout(() => killGroup(child, 'SIGKILL'), hangsAfter)
      if (report.files.length > before) next()
    })
    next()
    const [[code, signal]] = await Promise.all([once(child, 'close'), once(lines, 'close')])
    clearTimeout(patience)
    running.delete(child)
    all.files.push(...report.files)
    all.skipped.push(...report.skipped)
    all.failures.push(...report.failures)
    if (!current || ended) return
    const lost = { file: current.file, ok: false, ms: 0, passed: 0, failed: 1, skipped: 0 }
    all.files.push(lost)
    const failure = `${describeFile(lost)}, its process ended with ${signal ?? code}`
    all.failures.push(failure)
    print(failure)
  }

  async function runProcesses(): Promise<void> {
    while (waiting.length > 0 && !ended) await runProcess()
  }

  return {
    ...all,
    end(signal) {
      ended = true
      for (const child of running) killGroup(child, signal)
    },
    done: Promise.all(Array.from({ length: jobs }, runProcesses)).then(() => undefined),
  }
}

/** Signals the process and everything that its files started. */
function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  if (process.platform === 'win32') child.kill(signal)
  else process.kill(-child.pid, signal)
}
