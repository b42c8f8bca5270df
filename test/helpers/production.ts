import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { freePort } from '../workers/stage.ts'
import { bareEnv } from './bare-env.ts'
import type { DatabaseUrls } from './database.ts'

const entry = join(import.meta.dirname, '..', '..', 'src', 'start', 'entry.cjs')

/** A line of the log as it was printed. */
export type Line = Record<string, unknown> & { msg: string }

/** A process of the service with production settings, and its output. */
export interface Running {
  child: ChildProcess
  url: string
  printed: { out: string; err: string }
  lines(): Line[]
  /** Sends SIGTERM; gives the exit code and the ms until the process ended. */
  stop(): Promise<{ code: number | null; ms: number }>
}

/** Settings for an API and a worker that run as in production on one database. */
export const productionSettings = async (urls: DatabaseUrls, smtpUrl: string) => {
  const port = await freePort()
  return {
    NODE_ENV: 'production',
    PORT: String(port),
    SHUTDOWN_DELAY_SECONDS: '0',
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    DATABASE_API_URL: urls.api,
    DATABASE_SYSTEM_URL: urls.system,
    DATABASE_WORKER_URL: urls.worker,
    DATABASE_POOL_SIZE: '2',
    RATE_LIMIT_ENABLED: 'false',
    SMTP_URL: smtpUrl,
    MAIL_FROM: 'Bailiwick <no-reply@id.example.com>',
    SECRET_KEYS: randomBytes(32).toString('base64url'),
  }
}

/** Starts one of them and waits until it logs that it runs. `nodeOptions` are options of node. */
export async function startProcess(
  t: Test,
  name: 'api' | 'worker',
  env: Record<string, string>,
  nodeOptions: string[] = [],
): Promise<Running> {
  const child = spawn(process.execPath, [...nodeOptions, entry, name], {
    env: { ...bareEnv, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => void child.kill('SIGKILL'))
  const printed = { out: '', err: '' }
  child.stdout.on('data', (part) => (printed.out += part))
  child.stderr.on('data', (part) => (printed.err += part))
  while (child.exitCode === null && !/Listening on|actors started/.test(printed.out)) await sleep(20)
  if (child.exitCode !== null) throw new Error(`${name} ended: ${printed.out}${printed.err}`)
  return {
    child,
    url: env.PUBLIC_URL ?? '',
    printed,
    lines: () =>
      printed.out
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    async stop() {
      const begun = performance.now()
      const exit = once(child, 'close')
      child.kill('SIGTERM')
      const [code] = await exit
      return { code, ms: performance.now() - begun }
    },
  }
}
