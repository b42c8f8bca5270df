import { type ChildProcess, spawn } from 'node:child_process'
import type { Test } from 'tap'
import { until } from './stage.ts'

const main = new URL('../../workers/main.ts', import.meta.url).pathname

/** A worker process, with what it printed; it is ready once its actors are started. */
export async function startWorker(t: Test, env: Record<string, string>, ...names: string[]) {
  const child: ChildProcess = spawn(process.execPath, [main, ...names], {
    env: { PATH: process.env.PATH!, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const worker = { child, printed: '' }
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (part) => {
      worker.printed += part
    })
  t.teardown(() => void child.kill('SIGKILL'))
  await until(() => worker.printed.includes('actors started') || child.exitCode !== null)
  return worker
}
