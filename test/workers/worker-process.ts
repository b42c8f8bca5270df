import { type ChildProcess, spawn } from 'node:child_process'
import type { Test } from 'tap'
import { bareEnv } from '../helpers/bare-env.ts'
import { until } from './stage.ts'

const main = new URL('../../workers/main.ts', import.meta.url).pathname

/** A worker process and its output; it is ready once its actors have started. */
export const startWorker = (t: Test, env: Record<string, string>, ...names: string[]) =>
  startProcess(t, env, main, ...names)

/** A worker that has not ended: it is started again, because it ends when a busy Postgres does not answer in time. */
export async function runWorker(t: Test, env: Record<string, string>, ...names: string[]) {
  for (let tries = 1; ; tries++) {
    const worker = await startWorker(t, env, ...names)
    if (worker.child.exitCode === null) return worker
    if (tries === 5) throw new Error(`The worker ended: ${worker.printed}`)
  }
}

/** As startWorker, for another file that prints the same line when it is ready. */
export async function startProcess(t: Test, env: Record<string, string>, file: string, ...names: string[]) {
  const child: ChildProcess = spawn(process.execPath, [file, ...names], {
    env: { ...bareEnv, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const worker = { child, printed: '' }
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (part) => {
      worker.printed += part
    })
  t.teardown(() => void child.kill('SIGKILL'))
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  await until(() => worker.printed.includes('actors started') || hasEnded())
  return worker
}
