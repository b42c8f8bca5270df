import { type ChildProcess, spawn } from 'node:child_process'
import type { Test } from 'tap'
import { bareEnv } from '../helpers/bare-env.ts'
import { until } from './stage.ts'

const main = new URL('../../workers/main.ts', import.meta.url).pathname

/** A worker process and its output; it is ready once its actors have started. */
export const startWorker = (t: Test, env: Record<string, string>, ...names: string[]) =>
  startProcess(t, env, main, ...names)

/** The same for another file that prints the same line when it is ready. */
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
