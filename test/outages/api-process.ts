import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { bareEnv } from '../helpers/bare-env.ts'

export const entry = join(import.meta.dirname, '..', '..', 'src', 'entry.cjs')

/** The API as a process of its own; `url` is empty where it ended before it listened. */
export async function startApi(t: Test, settings: Record<string, string>) {
  const child: ChildProcess = spawn(process.execPath, [entry, 'api'], {
    env: { ...bareEnv, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => void child.kill('SIGKILL'))
  const told = { child, printed: '', url: '', exit: once(child, 'exit') }
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (part) => (told.printed += part))
  while (child.exitCode === null && !told.url) {
    await sleep(20)
    told.url = /Listening on (http:\S+?)["\s]/.exec(told.printed)?.[1] ?? ''
  }
  return told
}
