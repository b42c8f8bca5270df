import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { findCitus, startCitusCluster } from '../../../tools/tests/citus-cluster.ts'
import { bareEnv } from '../../helpers/bare-env.ts'
import { query } from '../../helpers/query.ts'
import { next, secretKey, settingsFor } from './restore.ts'

// Makes the dumps beside this file: databases of release 0.2 after its tour, on one Postgres and on Citus. It needs Citus, and a checkout
// of the commit of 0.2 with its node_modules:
//   git worktree add ../release-0.2 <commit of 0.2 in CHANGELOG.md> && (cd ../release-0.2 && npm ci)
//   node test/upgrade/release-0.2/make.ts ../release-0.2

const run = promisify(execFile)
const folder = resolve(process.argv[2] ?? '')
const programs = await findCitus(process.env.CITUS_BIN)
if (!process.argv[2] || !programs) throw new Error('Name a checkout of 0.2, and install Citus.')

for (const kind of ['postgres', 'citus'] as const) {
  const home = mkdtempSync(join(tmpdir(), 'bailiwick-fixture-'))
  const cluster = await startCitusCluster(programs, kind === 'citus' ? 3 : 1)
  try {
    await make(kind, cluster.superuserUrls, home)
  } finally {
    await cluster.remove()
    rmSync(home, { recursive: true, force: true })
  }
}

async function make(kind: 'postgres' | 'citus', servers: string[], home: string): Promise<void> {
  const [url, ...nodes] = servers.map((server) =>
    Object.assign(new URL(server), { pathname: '/bailiwick' }),
  ) as [URL, ...URL[]]
  for (const server of servers) await query(server, 'create database bailiwick')
  const env = {
    ...bareEnv,
    NO_COLOR: '1',
    ...settingsFor(url.href),
    DATABASE_URL: url.href,
    DATABASE_DISTRIBUTED: String(kind === 'citus'),
    SECRET_KEYS: secretKey,
    DATA_DIR: home,
    PORT: '0',
  }
  const cli = (...args: string[]) =>
    run(process.execPath, ['src/entry.cjs', 'cli', ...args], { cwd: folder, env })
  if (kind === 'citus') {
    for (const { href } of [url, ...nodes]) await query(href, 'create extension citus')
    await query(url.href, `select citus_set_coordinator_host('127.0.0.1', ${url.port})`)
    for (const { port } of nodes) await query(url.href, `select citus_add_node('127.0.0.1', ${port})`)
  }
  await cli('migrate')
  if (kind === 'citus') await cli('distribute')
  const service = spawn(process.execPath, ['src/entry.cjs', 'start', '--json', '--no-demo'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(service.stdout, 'data')
  const { url: address } = JSON.parse(String(line))
  const tour = ['src/entry.cjs', 'tour', '--url', address]
  const { stdout: said } = await run(process.execPath, tour, { cwd: folder, env, maxBuffer: 1e8 })
  while ((await query(url.href, 'select 1 from outbox')).length > 0) await sleep(200)
  service.kill('SIGTERM')
  await once(service, 'exit')
  const file = join(import.meta.dirname, kind)
  writeFileSync(`${file}.sql.gz`, gzipSync(await dump(url.href, kind), { level: 9 }))
  writeFileSync(`${file}.json`, `${JSON.stringify(adaIn(said))}\n`)
}

/** The owner of the tour's tenant, as the tour prints her. */
function adaIn(said: string) {
  const [, body = ''] = /--json '(\{"email":"ada\.[^']*\})'/.exec(said) ?? []
  const { email, password } = JSON.parse(body)
  const [, totp] = /"secret": "([A-Z2-7]+)"/.exec(said)!
  return { email, password, totp }
}

/** The database as statements that every client can send, with `next` between those that are sent apart. */
async function dump(url: string, kind: 'postgres' | 'citus'): Promise<string> {
  const sections = ['pre-data', 'data', 'post-data'].map(async (section) => {
    const options = ['--section', section, '--column-inserts', '--rows-per-insert=50', '--schema=public']
    if (kind === 'postgres') options.push('--schema=bullmq') // two thirds of the dump; the same on Citus
    const { stdout } = await run(join(programs!, 'pg_dump'), [...options, url], { maxBuffer: 1e8 })
    // Of a newer pg_dump, and for psql alone; and comments.
    return stdout
      .replace(/^(\\.*|SET transaction_timeout.*|CREATE SCHEMA public;|--.*)\n/gm, '')
      .replace(/\n{2,}/g, '\n')
  })
  const [before, data, after] = await Promise.all(sections)
  if (kind === 'postgres') return [before, data, after].join(next)
  // As `distribute` does it: foreign keys last, each by itself, because the nodes take one statement at a time.
  const keys = after!.match(foreignKeys) ?? []
  return [before, after!.replace(foreignKeys, ''), await distribution(url), data, ...keys].join(next)
}

const foreignKeys = /^ALTER TABLE ONLY \S+\n {4}ADD CONSTRAINT \S+ FOREIGN KEY [^;]+;\n/gm

/** The statements that spread the tables of a dump as they were. */
async function distribution(url: string): Promise<string> {
  const rows = await query(
    url,
    `select case when partmethod = 'h'
         then format('select create_distributed_table(%L, ''tenant_id'', colocate_with => %L)', 'public.' || relname,
                     case relname when 'roles' then 'none' else 'public.roles' end)
         else format('select create_reference_table(%L)', 'public.' || relname) end as statement
     from pg_dist_partition join pg_class on pg_class.oid = logicalrelid
     where partmethod = 'h' or repmodel = 't'
     order by partmethod = 'h', relname <> 'roles', relname`,
  )
  return rows.map(({ statement }) => `${statement};\n`).join('')
}
