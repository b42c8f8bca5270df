import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { bareEnv } from '../helpers/bare-env.ts'
import { disposableDatabase } from '../helpers/database.ts'
import { asking, entry, open, register, settingsOn, startApi } from './api-process.ts'

const { urls, drop } = await disposableDatabase()
t.teardown(drop)

const settings = settingsOn(urls)
const startProcess = (t: Test, more: Record<string, string> = {}) => startApi(t, { ...settings, ...more })

t.test(
  'on SIGTERM requests in flight are answered, idle connections close, new ones are refused, and the exit code is 0',
  async (t) => {
    const { child, url, exit } = await startProcess(t)
    const idle = await asking(url)
    const busy = await Promise.all(Array.from({ length: 6 }, () => open(url)))
    for (const [n, { socket }] of busy.entries()) socket.write(register(`busy${n}@example.com`))
    const slow = await open(url)
    const request = register('slow@example.com')
    slow.socket.write(request.subarray(0, -10))
    await asking(url) // accepted and read after the requests in flight

    const since = Date.now()
    child.kill('SIGTERM')
    await idle.ended
    t.ok(Date.now() - since < 10_000, 'idle connections close at once')
    await t.rejects(open(url), { code: 'ECONNREFUSED' })
    slow.socket.write(request.subarray(-10))
    await Promise.all([...busy, slow].map(({ ended }) => ended))
    for (const { received } of [...busy, slow]) {
      t.match(received, /^HTTP\/1\.1 201 /)
      t.match(received, /connection: close/i)
    }
    t.same(await exit, [0, null])
    t.ok(Date.now() - since < 25_000, `${Date.now() - since} ms: it does not wait for idle connections`)
  },
)

t.test('a second signal ends it at once, also with open connections', async (t) => {
  const { child, url, exit } = await startProcess(t)
  const stuck = await open(url)
  stuck.socket.write(register('stuck@example.com').subarray(0, -10))
  await sleep(50)
  const since = Date.now()
  child.kill('SIGTERM')
  await sleep(1_100)
  child.kill('SIGTERM')
  t.same(await exit, [130, null])
  t.ok(Date.now() - since < 20_000)
})

t.test('SIGINT works like SIGTERM', async (t) => {
  const { child, exit } = await startProcess(t)
  child.kill('SIGINT')
  t.same(await exit, [0, null])
})

t.test('the error for a port in use names the port and says what to do', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as { port: number }
  const { exit, printed, url } = await startProcess(t, { PORT: String(port) })
  t.same(await exit, [1, null])
  t.equal(url, '')
  t.equal(
    printed.trim(),
    `Port ${port} of 127.0.0.1 is in use. Set PORT to another port, or stop the process that listens there.`,
  )
})

t.test('in production a port in use is an error without PORT, too', async (t) => {
  const other = createServer().listen(3000, '127.0.0.1')
  await once(other, 'listening').catch(() => undefined) // in use already
  t.teardown(() => other.close())
  const required = {
    SMTP_URL: 'smtp://127.0.0.1:9',
    MAIL_FROM: 'no-reply@id.example.com',
    PUBLIC_URL: 'https://id.example.com',
  }
  const { exit, printed } = await startProcess(t, { ...required, NODE_ENV: 'production', PORT: '' })
  t.same(await exit, [1, null])
  t.match(printed, 'Port 3000 of 127.0.0.1 is in use. Set PORT to another port')
})

t.test('production does not start with missing settings, and lists them all', async (t) => {
  const bare = Object.fromEntries(Object.keys(settings).map((name) => [name, '']))
  for (const name of ['api', 'start', 'worker']) {
    const child = spawn(process.execPath, [entry, name], {
      env: { ...bareEnv, ...bare, NODE_ENV: 'production' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let printed = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (printed += part))
    t.same(await once(child, 'exit'), [1, null])
    for (const setting of ['SECRET_KEYS', 'SMTP_URL', 'MAIL_FROM', 'PUBLIC_URL'])
      t.match(printed, `${setting} is missing`, `${name}: ${setting}`)
    const asked = [...printed.matchAll(/DATABASE_(\w+)_URL is missing/g)].map(([, role]) => role)
    const needed = { api: ['API', 'SYSTEM'], start: ['API', 'SYSTEM', 'WORKER'], worker: ['WORKER'] }[name]
    t.strictSame(asked, needed, `${name} needs the settings of its own roles, and of no other`)
    t.notMatch(printed, /^\s+at /m, 'no stack')
  }
  const plain = await startProcess(t, {
    NODE_ENV: 'production',
    DATABASE_API_URL: 'postgres://bailiwick_api:hush@db.example.com/x',
    DATABASE_SYSTEM_URL: 'postgres://bailiwick_system:hush@db.example.com/x?sslmode=no-verify',
    REDIS_URL: 'redis://:hush@redis.example.com',
  })
  t.same(await plain.exit, [1, null])
  for (const name of ['DATABASE_API_URL', 'DATABASE_SYSTEM_URL', 'REDIS_URL'])
    t.match(plain.printed, `${name} has no TLS: `, 'production requires TLS')
  t.notMatch(
    plain.printed,
    /DATABASE_WORKER_URL has no TLS|hush/,
    'connections on the same machine need none',
  )
  const unknown = await startProcess(t, { OTP_REQUIRED_FOR_LOGN: 'true', PORT: 'x', LOG_LEVEL: 'loud' })
  t.same(await unknown.exit, [1, null])
  for (const fault of ['OTP_REQUIRED_FOR_LOGN is not a setting', 'PORT must be', 'LOG_LEVEL must be'])
    t.match(unknown.printed, fault)
})

t.test('an unavailable database is reported at the start, without its password', async (t) => {
  const { exit, printed } = await startProcess(t, {
    DATABASE_API_URL: 'postgres://bailiwick_api:hush@127.0.0.1:9/x',
  })
  t.same(await exit, [1, null])
  t.equal(printed.trim(), 'DATABASE_API_URL: no Postgres answers at 127.0.0.1:9')
  const wrong = new URL(urls.system)
  wrong.password = 'hush'
  const refused = await startProcess(t, { DATABASE_SYSTEM_URL: wrong.href })
  t.same(await refused.exit, [1, null])
  t.match(refused.printed, /^DATABASE_SYSTEM_URL: (Postgres at \S+ refuses this login|no Postgres)/)
  t.notMatch(printed + refused.printed, 'hush')
})
