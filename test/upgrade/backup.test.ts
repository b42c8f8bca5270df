import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { query } from '../helpers/query.ts'
import { until } from '../workers/stage.ts'
import { findInstalled, runTool, startCluster, type Tool } from './installed-postgres.ts'
import { command, present, startRelease } from './release.ts'
import { asking, expect, newPerson, walk } from './traffic.ts'

// Runs docs/how-to/backup-restore.md: a dump of a running service, restored into another cluster.

const bin = findInstalled()
const skip = bin ? false : 'no Postgres with pg_dump is installed'
const document = readFileSync(join(present, 'docs', 'how-to', 'backup-restore.md'), 'utf8')

/** The SQL block of the document that starts with `start`. */
function documented(start: string): string {
  const block = [...document.matchAll(/^```sql\n([\s\S]*?)^```/gm)]
    .map(([, text]) => text!)
    .find((text) => text.startsWith(start))
  if (!block) throw new Error(`The document has no SQL block that starts with: ${start}`)
  return block
}

const roles = ['api', 'system', 'worker'] as const

/** The database settings of the service, with one password for its roles. */
function settingsFor(superuser: string, password: string) {
  const at = (role: string) => {
    const url = new URL(superuser)
    Object.assign(url, { username: `bailiwick_${role}`, password })
    return url.href
  }
  return Object.fromEntries(roles.map((role) => [`DATABASE_${role.toUpperCase()}_URL`, at(role)]))
}

const everyCount = async (url: string) => {
  const tables = await query(
    url,
    "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('public', 'bullmq') order by 1",
  )
  const counts = tables.map(
    ({ name }) =>
      `select '${name}' as name, count(*)::int, md5(string_agg(t::text, '' order by t::text)) from ${name} t`,
  )
  return query(url, counts.join(' union all '))
}

t.test('a dump restores completely in another cluster', { skip }, async (t) => {
  const tool = (name: Tool, ...args: string[]) => runTool(bin!, name, ...args)
  const [here, there] = [await startCluster(t, bin!), await startCluster(t, bin!)]
  const [from, to] = [here('bailiwick'), there('bailiwick')]
  const shared = {
    NODE_ENV: 'test',
    DATABASE_POOL_SIZE: '4',
    SECRET_KEYS: randomBytes(32).toString('base64url'),
  }
  await query(here('postgres'), 'create database bailiwick')
  const env = { ...shared, ...settingsFor(from, 'only-for-tests') }
  const migrated = await command(present, { ...env, DATABASE_URL: from }, 'migrate')
  t.equal(migrated.code, 0, migrated.output)
  const api = await startRelease(t, present, 'api', env)
  const worker = await startRelease(t, present, 'worker', env)
  const ask = asking(api.url)
  const kept = await walk(ask)
  await until(async () => (await query(from, 'select from outbox')).length === 0)
  t.equal(await worker.stop(), 0)
  const waiting = newPerson()
  await expect(201, ask('POST', '/api/v1/auth/register/', { body: waiting }))
  const ofOwner = new URL(from)
  await query(from, "alter role bailiwick_owner login password 'only-for-tests'")
  Object.assign(ofOwner, { username: 'bailiwick_owner', password: 'only-for-tests' })
  const folder = t.testdir({})
  const file = join(folder, 'bailiwick.dump')

  t.test('a role under row-level security cannot dump, and pg_dump says so', async (t) => {
    const refused = await tool('pg_dump', '-Fc', '-f', `${file}.refused`, ofOwner.href)
    t.equal(refused.code, 1)
    t.match(refused.stderr, /query would be affected by row-level security policy/)
    const dumped = await tool('pg_dump', '--enable-row-security', '-Fc', '-f', `${file}.owner`, ofOwner.href)
    t.equal(dumped.code, 0, dumped.stderr)
  })

  t.test('the superuser dumps everything, and every row is restored', async (t) => {
    const before = await everyCount(from)
    const dumped = await tool('pg_dump', '-Fc', '-f', file, from)
    t.equal(dumped.code, 0, dumped.stderr)
    t.same(await everyCount(from), before, 'the service is idle')
    const grants = await tool('pg_dumpall', '--roles-only', '-f', `${file}.roles`, '-d', here('postgres'))
    t.equal(grants.code, 0, grants.stderr)

    // The backup does not contain changes to sessions that happen after it.
    const out = { token: kept.access, body: { refresh: kept.refresh } }
    await expect(200, ask('POST', '/api/v1/auth/logout/', out))
    t.equal((await ask('GET', '/api/v1/users/me/', { token: kept.access })).status, 401)
    t.equal(await api.stop(), 0)

    await query(there('postgres'), documented('create role bailiwick_owner'))
    for (const [database, dump] of [
      ['bailiwick', file],
      ['of_owner', `${file}.owner`],
    ] as const) {
      await query(there('postgres'), `create database ${database}`)
      const options = ['--exit-on-error', '--single-transaction', '-d', there(database), dump]
      const restored = await tool('pg_restore', ...options)
      t.equal(restored.code, 0, restored.stderr)
      t.same(await everyCount(there(database)), before, database)
    }
    const ofOwner = { ...shared, ...settingsFor(there('of_owner'), 'only-for-tests') }
    for (const role of roles)
      await query(there('of_owner'), `alter role bailiwick_${role} login password 'only-for-tests'`)
    const granted = await command(present, { ...ofOwner, DATABASE_URL: there('of_owner') }, 'migrate')
    t.equal(granted.code, 0, granted.output)
    const discarded = await command(present, ofOwner, 'mails:discard', '--yes')
    t.match(discarded, { code: 0, output: /^Discarded: [1-9]/ })
    const left = "select from mails where status not in ('sent', 'failed') or content_sealed is not null"
    t.same(await query(there('of_owner'), left), [], 'no mail waits to be sent')
  })

  const restored = { ...shared, ...settingsFor(to, 'a new password') }
  t.test(
    'the service starts on the restored database after migrate, which has nothing to apply',
    async (t) => {
      for (const role of roles)
        await query(to, `alter role bailiwick_${role} login password 'a new password'`)
      const again = await command(present, { ...restored, DATABASE_URL: to }, 'migrate')
      t.same(again, { code: 0, output: 'Up to date\n' })
      const { code, output } = await command(present, restored, 'doctor')
      t.equal(code, 0, output)
    },
  )

  t.test('sessions are restored, ended ones work again, until all are ended', async (t) => {
    const { url, stop } = await startRelease(t, present, 'api', restored)
    const asked = asking(url)
    await expect(200, asked('GET', '/api/v1/users/me/', { token: kept.access }))
    const ended = await command(present, restored, 'sessions:end-all', '--yes')
    t.match(ended, { code: 0, output: /^Ended: [1-9]/ })
    t.equal((await asked('GET', '/api/v1/users/me/', { token: kept.access })).status, 401)
    const refused = await asked('POST', '/api/v1/auth/refresh/', { body: { refresh: kept.refresh } })
    t.equal(refused.status, 401)
    await walk(asked)

    const worker = await startRelease(t, present, 'worker', restored)
    const mails = `select from captured_mails where recipient = '${waiting.email}'`
    await until(async () => (await query(to, mails)).length === 1)
    t.pass('mail that waited during the backup is sent')
    await until(async () => (await query(to, 'select from outbox')).length === 0)
    const faulty = await query(
      to,
      'select tenant_id from events group by tenant_id having count(*) <> max(sequence) or count(distinct sequence) <> count(*)',
    )
    t.same(faulty, [], 'events continue without a gap')
    t.equal(await worker.stop(), 0)
    t.equal(await stop(), 0)
  })

  t.test('without the keys that sealed the data nothing starts', async (t) => {
    const SECRET_KEYS = randomBytes(32).toString('base64url')
    await t.rejects(
      startRelease(t, present, 'api', { ...restored, SECRET_KEYS }),
      /Sealed by a key that is not in SECRET_KEYS/,
    )
  })
})
