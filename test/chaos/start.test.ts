import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { removeEmbeddedPostgres } from '../../src/start/development/embedded-postgres.ts'
import { isAlive } from '../../src/start/development/instance-lock.ts'
import { findClusters } from '../../src/start/development/postgres-cluster.ts'

// npm start as a user runs it, in a folder that only its owner can enter: Postgres must start there for root too.

const root = join(import.meta.dirname, '..', '..')
const parent = await mkdtemp(join(tmpdir(), 'bailiwick-start-'))
await chmod(parent, 0o700)
const dataDir = join(parent, 'data')
t.teardown(async () => {
  await removeEmbeddedPostgres({ dataDir })
  await rm(parent, { recursive: true, force: true })
})

function npmStart(t: Test, ...options: string[]) {
  const { NODE_OPTIONS, TEST_DATABASE_URL, ...env } = process.env
  const child: ChildProcess = spawn('npm', ['start', '--silent', '--', ...options], {
    cwd: root,
    env: { ...env, PORT: '0', DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const lines: string[] = []
  for (const stream of [child.stdout!, child.stderr!])
    createInterface({ input: stream }).on('line', (line) => lines.push(line))
  t.teardown(() => void (child.exitCode === null && child.kill('SIGKILL')))
  return { child, lines, exit: once(child, 'exit') }
}

/** Sends a login on a separate connection; resolves once its bytes are sent. `status` resolves with the answer. */
async function sentLogin(url: string) {
  const body = JSON.stringify(ada)
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  const login = request(`${url}/api/v1/auth/login/`, { method: 'POST', headers, agent: false })
  const status = once(login, 'response').then(([response]) => response.resume().statusCode)
  await once(login.end(body), 'finish')
  return { status }
}

async function json(
  started: ReturnType<typeof npmStart>,
): Promise<{ url: string; pid: number; data_dir: string }> {
  while (started.lines.length === 0 && started.child.exitCode === null) await sleep(20)
  return JSON.parse(started.lines[0] ?? '{}')
}

const post = (url: string, path: string, body: object) =>
  fetch(`${url}/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const ada = { email: 'ada@example.com', password: 'a quiet harbour' }

t.test(
  'npm start prints one line of JSON when it is ready, creates the demo only on request, and drains on a signal to npm',
  async (t) => {
    const started = npmStart(t, '--json', '--no-demo')
    const told = await json(started)
    t.match(told, { url: /^http:\/\/localhost:\d+$/, pid: Number, data_dir: dataDir })
    t.equal((await fetch(`${told.url}/readyz`)).status, 200, 'it is ready when it says so')
    t.equal((await post(told.url, '/auth/login/', { email: 'admin@demo.test', password: 'x' })).status, 401)
    t.equal((await post(told.url, '/auth/register/', ada)).status, 201)
    if (process.platform !== 'win32')
      t.equal((await stat(join(dataDir, 'development-secrets.json'))).mode & 0o077, 0)

    const second = npmStart(t)
    t.same(await second.exit, [1, null])
    t.match(
      second.lines.join('\n'),
      `Bailiwick is running at ${told.url} (pid ${told.pid}) on ${dataDir}. Stop it, or set DATA_DIR`,
    )

    const flying = await Promise.all(Array.from({ length: 20 }, () => sentLogin(told.url)))
    await once(request(`${told.url}/readyz`, { agent: false }).end(), 'response') // accepted after the logins
    const since = Date.now()
    started.child.kill('SIGTERM')
    t.same(
      [...new Set(await Promise.all(flying.map((login) => login.status)))],
      [200],
      'requests in flight are answered',
    )
    t.same(await started.exit, [0, null])
    t.ok(Date.now() - since < 25_000, `${Date.now() - since} ms`)
    await t.rejects(fetch(told.url), { cause: { code: 'ECONNREFUSED' } })
    t.equal(started.lines.length, 1, started.lines.join('\n'))
  },
)

t.test('after kill -9 it starts again with its data, and prints the addresses for a person', async (t) => {
  const killed = npmStart(t, '--json', '--no-demo')
  const told = await json(killed)
  process.kill(told.pid, 'SIGKILL')
  await killed.exit
  t.notOk(isAlive(told.pid))

  const again = npmStart(t)
  while (!again.lines.some((line) => line.startsWith('Ready in')) && again.child.exitCode === null)
    await sleep(20)
  const text = again.lines.join('\n')
  const url = / at (http:\S+)$/m.exec(text)?.[1] ?? ''
  t.equal((await post(url, '/auth/login/', ada)).status, 200, 'no acknowledged request was lost')
  const [, email, password] = /^Admin\s+(\S+)\s+(\S+)/m.exec(text) ?? []
  t.equal((await post(url, '/auth/login/', { email, password })).status, 200, 'the printed admin can log in')
  for (const name of ['Database', 'Queues', 'Mail', 'API docs']) t.match(text, new RegExp(`^${name} `, 'm'))
  // Ctrl-C: the terminal sends the signal to the process group, and npm forwards it a second time.
  const [cluster] = await findClusters(dataDir)
  const pid = Number.parseInt(await readFile(join(cluster!.data, 'postmaster.pid'), 'utf8'), 10)
  process.kill(-again.child.pid!, 'SIGINT')
  await again.exit
  while (isAlive(pid)) await sleep(20)
})
