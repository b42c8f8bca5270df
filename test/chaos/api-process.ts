import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { bareEnv } from '../helpers/bare-env.ts'
import type { DatabaseUrls } from '../helpers/database.ts'
import { requestText } from '../helpers/raw-http.ts'

export const entry = join(import.meta.dirname, '..', '..', 'src', 'start', 'entry.cjs')

/** The API in a separate process; `url` is empty when it ended before it listened. */
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

/** Settings of a small API on a test database. */
export const settingsOn = (urls: DatabaseUrls) => ({
  NODE_ENV: 'test',
  PORT: '0',
  DATABASE_API_URL: urls.api,
  DATABASE_SYSTEM_URL: urls.system,
  DATABASE_WORKER_URL: urls.worker,
  DATABASE_POOL_SIZE: '2',
  SECRET_KEYS: randomBytes(32).toString('base64url'),
})

/** A connection and the data it received; `ended` resolves when the server closes it. */
export async function open(url: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  const connection = { socket, received: '', ended: once(socket, 'close') }
  socket.on('data', (part) => (connection.received += part))
  socket.on('error', () => undefined)
  return connection
}

/** A connection that has been idle since an answer from /healthz. */
export async function asking(url: string) {
  const connection = await open(url)
  connection.socket.write(requestText('GET', '/healthz'))
  while (!connection.received.includes('"ok"')) await sleep(5)
  return connection
}

/** A slow request: it hashes a password. */
export const register = (email: string) =>
  requestText(
    'POST',
    '/api/v1/auth/register/',
    { 'content-type': 'application/json' },
    JSON.stringify({ email, password: 'a quiet harbour' }),
  )
