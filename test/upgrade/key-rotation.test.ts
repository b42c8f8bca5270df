import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { SMTPServer } from 'smtp-server'
import t from 'tap'
import { disposableDatabase } from '../helpers/database.ts'
import { until } from '../workers/stage.ts'
import { command, present, startRelease } from './release.ts'
import { type Ask, asking, expect, newPerson, walk } from './traffic.ts'

// Runs docs/how-to/key-rotation.md: at each step, processes with the previous and with the next settings serve together.

const { urls, drop } = await disposableDatabase()
const superuser = new pg.Client({ connectionString: urls.superuser })
await superuser.connect()
t.teardown(async () => {
  await superuser.end()
  await drop()
})
const document = readFileSync(join(present, 'docs', 'how-to', 'key-rotation.md'), 'utf8')
const newKey = () => randomBytes(32).toString('base64url')
const [older, newer] = [newKey(), newKey()]
const env = {
  NODE_ENV: 'test',
  DATABASE_POOL_SIZE: '4',
  RATE_LIMIT_ENABLED: 'false',
  DATABASE_API_URL: urls.api,
  DATABASE_SYSTEM_URL: urls.system,
  DATABASE_WORKER_URL: urls.worker,
  SECRET_KEYS: older,
}

const me = '/api/v1/users/me/'
const refresh = '/api/v1/auth/refresh/'

/** A person who signs in at one process can continue at the other. */
async function serveTogether(one: Ask, other: Ask) {
  for (const [here, there] of [
    [one, other],
    [other, one],
  ] as const) {
    const pair = await walk(here)
    await expect(200, there('GET', me, { token: pair.access }))
    const renewed = await expect(200, there('POST', refresh, { body: { refresh: pair.refresh } }))
    await expect(200, here('POST', refresh, { body: { refresh: renewed.refresh } }))
  }
}

t.test('SECRET_KEYS change in three steps without an effect on clients', async (t) => {
  const steps = [older, `${older},${newer}`, `${newer},${older}`]
  let before = await startRelease(t, present, 'api', env)
  for (const SECRET_KEYS of steps.slice(1)) {
    const after = await startRelease(t, present, 'api', { ...env, SECRET_KEYS })
    await serveTogether(asking(before.url), asking(after.url))
    t.equal(await before.stop(), 0)
    before = after
  }
  const pair = await walk(asking(before.url))
  const SECRET_KEYS = `${newer},${older}`
  const { code, output } = await command(present, { ...env, SECRET_KEYS }, 'keys:reseal', '--json')
  t.equal(code, 0, output)
  const { tables } = JSON.parse(output)
  t.ok(tables.every(({ lost }: { lost: number }) => lost === 0))
  t.match(
    tables.find(({ table }: { table: string }) => table === 'signing_keys'),
    { resealed: 1 },
  )

  const last = await startRelease(t, present, 'api', { ...env, SECRET_KEYS: newer })
  await serveTogether(asking(before.url), asking(last.url))
  const renewed = await expect(200, asking(last.url)('POST', refresh, { body: { refresh: pair.refresh } }))
  await expect(200, asking(last.url)('GET', me, { token: renewed.access }))
  await t.rejects(startRelease(t, present, 'api', env), /Sealed by a key that is not in SECRET_KEYS/)
  for (const running of [before, last]) t.equal(await running.stop(), 0)
})

t.test('a signing key that is deleted ends every token it signed', async (t) => {
  const settings = { ...env, SECRET_KEYS: newer }
  const first = await startRelease(t, present, 'api', settings)
  const pair = await walk(asking(first.url))
  const { code, output } = await command(present, settings, 'keys:rotate', '--json')
  t.equal(code, 0, output)
  const { kid } = JSON.parse(output)
  const listed = JSON.parse((await command(present, settings, 'keys:list', '--json')).output).keys
  for (const key of listed.filter((key: { kid: string }) => key.kid !== kid)) {
    const revoked = await command(present, settings, 'keys:revoke', `--kid=${key.kid}`, '--yes')
    t.equal(revoked.code, 0, revoked.output)
  }
  t.equal(await first.stop(), 0)
  const second = await startRelease(t, present, 'api', settings)
  const ask = asking(second.url)
  t.equal((await ask('GET', me, { token: pair.access })).status, 401)
  t.equal((await ask('POST', refresh, { body: { refresh: pair.refresh } })).status, 401)
  await walk(ask)
  const { keys } = await expect(200, ask('GET', '/.well-known/jwks.json'))
  t.same(
    keys.map((key: { kid: string }) => key.kid),
    [kid],
  )
  t.equal(await second.stop(), 0)
})

t.test('database logins with new passwords replace the previous ones, one process at a time', async (t) => {
  const password = newKey()
  const suffix = randomBytes(4).toString('hex')
  const [, statements = ''] = /```sql\n(create role bailiwick_api_2 [\s\S]*?)```/.exec(document) ?? []
  await superuser.query(statements.replaceAll('_2 ', `_${suffix} `).replaceAll("'…'", `'${password}'`))
  const logins = ['api', 'system', 'worker'].map((role) => `bailiwick_${role}_${suffix}`)
  t.teardown(() => superuser.query(logins.map((login) => `drop role if exists ${login}`).join(';')))
  const addressOf = (role: 'api' | 'system' | 'worker') => {
    const url = new URL(urls[role])
    Object.assign(url, { username: `bailiwick_${role}_${suffix}`, password })
    return url.href
  }
  const settings = {
    ...env,
    SECRET_KEYS: newer,
    DATABASE_API_URL: addressOf('api'),
    DATABASE_SYSTEM_URL: addressOf('system'),
    DATABASE_WORKER_URL: addressOf('worker'),
  }
  const before = await startRelease(t, present, 'api', { ...env, SECRET_KEYS: newer })
  const after = await startRelease(t, present, 'api', settings)
  const worker = await startRelease(t, present, 'worker', settings)
  await serveTogether(asking(before.url), asking(after.url))
  await until(async () => (await superuser.query('select from outbox')).rowCount === 0)
  const { code, output } = await command(present, settings, 'doctor')
  t.equal(code, 0, output)
  for (const running of [before, after, worker]) t.equal(await running.stop(), 0)
})

t.test('mail waits while the mail server refuses the password, and is sent with the next one', async (t) => {
  let received = 0
  let refused = 0
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    onAuth({ password }, _session, done) {
      if (password === 'new') return done(null, { user: 'bailiwick' })
      refused++
      done(Object.assign(new Error('no such password'), { responseCode: 535 }))
    },
    onData(stream, _session, done) {
      stream.resume().on('end', () => {
        received++
        done()
      })
    },
  })
  server.on('error', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.server.address() as AddressInfo
  const settings = (password: string) => ({
    ...env,
    SECRET_KEYS: newer,
    SMTP_URL: `smtp://bailiwick:${password}@127.0.0.1:${port}`,
  })
  const api = await startRelease(t, present, 'api', settings('old'))
  const before = await startRelease(t, present, 'worker', settings('old'))
  await expect(201, asking(api.url)('POST', '/api/v1/auth/register/', { body: newPerson() }))
  await until(() => refused > 0)
  t.equal(await before.stop(), 0)
  const after = await startRelease(t, present, 'worker', settings('new'))
  await until(() => received > 0)
  t.equal((await superuser.query('select from dead_letters')).rowCount, 0)
  for (const running of [api, after]) t.equal(await running.stop(), 0)
})
