import { readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import {
  removeEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../src/start/development/embedded-postgres.ts'
import { isAlive } from '../../../src/start/development/instance-lock.ts'
import { volatileSettings as settings } from '../../../tools/tests/test-cluster.ts'
import { dataFolder, isClosed, isRoot, kill9, startElsewhere } from './postgres-elsewhere.ts'

/**
 * A cluster that most tests share, because creating one takes most of their time. Each test stops it at its end; the
 * last one removes it.
 */
const common = await dataFolder(t)

async function ask(url: string, query: string): Promise<string> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query({ text: query, rowMode: 'array' })
  await client.end()
  return rows.map((row) => String(row[0])).join()
}

async function pidOf(folder: string): Promise<number> {
  return Number.parseInt(await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8'), 10)
}

t.test(
  'a new folder gets a cluster that is Unicode, private, and reachable only from this machine',
  async (t) => {
    const dataDir = common
    const { superuserUrl: url, folder, notes, stop } = await startEmbeddedPostgres({ dataDir, settings })
    t.teardown(stop)
    t.equal(folder, join(dataDir, 'postgres'))
    t.equal(notes.length, isClosed ? 1 : 0, notes.join())
    t.match(url, /^postgres:\/\/postgres:[0-9a-f]{48}@127\.0\.0\.1:\d+\/postgres$/)
    t.equal(await ask(url, 'show server_encoding'), 'UTF8')
    t.equal(await ask(url, "select lower('ÄÖΣ')"), 'äöσ', 'case is folded beyond ASCII')
    t.equal(await ask(url, 'show listen_addresses'), '127.0.0.1')
    t.equal(await ask(url, 'show unix_socket_directories'), '')
    t.equal(await ask(url, 'show fsync'), 'off', 'settings reach the server')
    t.equal(await ask(url, 'select distinct auth_method from pg_hba_file_rules'), 'scram-sha-256')
    t.equal((await stat(join(folder, 'password'))).mode & 0o777, 0o600)
    t.equal((await stat(join(folder, 'data'))).mode & 0o777, 0o700)
    await t.rejects(ask(url.replace(/:[0-9a-f]{48}@/, ':guess@'), 'select 1'), { code: '28P01' })
  },
)

t.test('a cluster is durable by default', async (t) => {
  const { superuserUrl, stop } = await startEmbeddedPostgres({ dataDir: common })
  t.teardown(stop)
  t.equal(
    await ask(superuserUrl, "select string_agg(setting, ',') from pg_settings where name = 'fsync'"),
    'on',
  )
})

t.test('data, password and port stay after a stop; a second stop has no effect', async (t) => {
  const dataDir = common
  const first = await startEmbeddedPostgres({ dataDir, settings })
  await ask(first.superuserUrl, 'create table kept as select 42 as n')
  const version = join(first.folder, 'data', 'PG_VERSION')
  const { mtimeMs: made } = await stat(version)
  const pid = await pidOf(first.folder)
  await first.stop()
  await first.stop()
  while (isAlive(pid)) await sleep(20)
  const second = await startEmbeddedPostgres({ dataDir, settings })
  t.equal(second.superuserUrl, first.superuserUrl)
  t.equal((await stat(version)).mtimeMs, made, 'a second start creates no second cluster')
  t.teardown(second.stop)
  t.equal(await ask(second.superuserUrl, 'select n from kept'), '42')
})

t.test('a taken port is replaced by a free one', async (t) => {
  const dataDir = common
  const first = await startEmbeddedPostgres({ dataDir, settings })
  await first.stop()
  const squatter = createServer().listen(Number(new URL(first.superuserUrl).port), '127.0.0.1')
  t.teardown(() => squatter.close())
  const second = await startEmbeddedPostgres({ dataDir, settings })
  t.teardown(second.stop)
  t.not(second.superuserUrl, first.superuserUrl)
  t.equal(await ask(second.superuserUrl, 'select 1'), '1')
})

t.test('after kill -9 of its parent the server shuts down, and nothing is lost', async (t) => {
  const dataDir = common
  const [parent, said] = await startElsewhere(dataDir)
  await ask(JSON.parse(said).superuserUrl, 'create table kept_once as select 42 as n')
  const pid = await pidOf(join(dataDir, 'postgres'))
  await kill9(parent)
  while (isAlive(pid)) await sleep(20) // without the watcher this never ended
  t.match(await readFile(join(dataDir, 'postgres.log'), 'utf8'), /database system is shut down\n$/)
  const second = await startEmbeddedPostgres({ dataDir, settings })
  t.teardown(second.stop)
  t.equal(await ask(second.superuserUrl, 'select n from kept_once'), '42')
})

t.test('a start while the server ends with its parent gets a new server', async (t) => {
  const dataDir = common
  const [parent] = await startElsewhere(dataDir)
  const pid = await pidOf(join(dataDir, 'postgres'))
  await kill9(parent)
  const { superuserUrl, folder, stop } = await startEmbeddedPostgres({ dataDir, settings })
  t.teardown(stop)
  t.not(await pidOf(folder), pid)
  t.equal(await ask(superuserUrl, 'select 1'), '1')
})

t.test('a server killed with its parent recovers at the next start', async (t) => {
  const dataDir = common
  const first = await startEmbeddedPostgres({ dataDir })
  await ask(first.superuserUrl, 'create table kept_twice as select 42 as n')
  process.kill(await pidOf(first.folder), 'SIGKILL')
  const second = await startEmbeddedPostgres({ dataDir })
  t.teardown(second.stop)
  t.equal(await ask(second.superuserUrl, 'select n from kept_twice'), '42')
})

t.test('a pid file that names a process of another program is ignored', async (t) => {
  const dataDir = common
  const first = await startEmbeddedPostgres({ dataDir, settings })
  const file = join(first.folder, 'data', 'postmaster.pid')
  const [, ...rest] = (await readFile(file, 'utf8')).split('\n')
  await first.stop()
  await writeFile(file, [process.pid, ...rest].join('\n'))
  const second = await startEmbeddedPostgres({ dataDir, settings })
  t.teardown(second.stop)
  t.equal(await ask(second.superuserUrl, 'select 1'), '1')
})

t.test('processes that start at the same time share one server', async (t) => {
  const dataDir = await dataFolder(t)
  const both = await Promise.all([startElsewhere(dataDir), startElsewhere(dataDir)])
  const [one, two] = both.map(([, said]) => JSON.parse(said))
  t.ok(one.superuserUrl)
  t.equal(one.superuserUrl, two.superuserUrl)
  t.equal(
    one.notes.length + two.notes.length,
    isClosed ? 1 : 0,
    'only the one that starts it says where it runs',
  )
  for (const [child] of both) await kill9(child)
})

t.test(
  'if the server cannot enter the folder, as root its files are stored elsewhere and found again',
  async (t) => {
    const dataDir = await dataFolder(t, 0o700)
    const first = await startEmbeddedPostgres({ dataDir, settings })
    await ask(first.superuserUrl, 'create table kept as select 42 as n')
    await first.stop()
    const second = await startEmbeddedPostgres({ dataDir, settings })
    t.equal(await ask(second.superuserUrl, 'select n from kept'), '42')
    t.equal(second.notes.length, isRoot || isClosed ? 1 : 0, 'one note, even if several things are elsewhere')
    if (isRoot) {
      t.match(second.notes[0], `Postgres files are in ${second.folder} because `)
      t.equal((await stat(second.folder)).uid, 0)
      t.not((await stat(join(second.folder, 'data'))).uid, 0)
    }
    await removeEmbeddedPostgres({ dataDir })
    await t.rejects(stat(second.folder), { code: 'ENOENT' })
  },
)

t.test('a server that does not start gives an error with its log and a solution', async (t) => {
  const dataDir = common
  const wrong = startEmbeddedPostgres({ dataDir, settings: { ...settings, shared_buffers: 'lots' } })
  await t.rejects(wrong, { message: /invalid value for parameter "shared_buffers".*Set DATABASE_URL/s })
  const fileInTheWay = join(dataDir, 'postgres.log')
  await t.rejects(startEmbeddedPostgres({ dataDir: fileInTheWay }), { message: /Set DATABASE_URL/ })
})

t.test('remove stops a running server and deletes its files; without one it does nothing', async (t) => {
  const dataDir = common
  const { folder } = await startEmbeddedPostgres({ dataDir, settings })
  const pid = await pidOf(folder)
  await removeEmbeddedPostgres({ dataDir })
  while (isAlive(pid)) await sleep(20)
  await t.rejects(stat(folder), { code: 'ENOENT' })
  await t.rejects(stat(join(dataDir, 'postgres.log')), { code: 'ENOENT' })
  await removeEmbeddedPostgres({ dataDir })
})
