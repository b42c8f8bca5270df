import { execFile } from 'node:child_process'
import { appendFile, chmod, chown, glob, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type Account, chooseAccount, serverEnvironment } from '../development/postgres-binaries.ts'
import { volatileSettings } from './test-cluster.ts'

const run = promisify(execFile)

/** Postgres servers with Citus, the coordinator first. Their databases know nothing of each other yet. */
export interface CitusCluster {
  superuserUrls: string[]
  remove(): Promise<void>
}

// Every test database has a daemon of Citus, and transactions over two nodes are prepared.
const settings = {
  ...volatileSettings,
  shared_preload_libraries: 'citus',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_worker_processes: '60',
  max_prepared_transactions: '400',
  'citus.propagate_set_commands': 'local',
  'citus.shard_count': '4',
  'citus.max_cached_conns_per_worker': '1',
}

/** The folder of the programs of a Postgres that has Citus: `chosen`, or one of Debian's; null if there is none. */
export async function findCitus(chosen?: string): Promise<string | null> {
  if (chosen) return chosen
  for await (const library of glob('/usr/lib/postgresql/*/lib/citus.so'))
    return join(dirname(library), '..', 'bin')
  return null
}

/** Starts `size` servers for tests on free ports. `remove` stops them and deletes their files. */
export async function startCitusCluster(programs: string, size: number): Promise<CitusCluster> {
  const account = await chooseAccount()
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-citus-'))
  await chmod(folder, 0o711)
  const nodes: { url: string; stop(): Promise<unknown> }[] = []
  const remove = async () => {
    for (const { stop } of nodes) await stop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    for (let number = 0; number < size; number++)
      nodes.push(await startNode(programs, account, folder, number))
  } catch (error) {
    await remove()
    throw error
  }
  return { superuserUrls: nodes.map(({ url }) => url), remove }
}

async function startNode(programs: string, account: Account, folder: string, number: number) {
  const home = await mkdtemp(join(folder, `node-${number}-`))
  if (account.uid !== undefined) await chown(home, account.uid, account.gid!)
  const data = join(home, 'data')
  const options = { ...account, cwd: '/', env: serverEnvironment }
  await run(join(programs, 'initdb'), ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync'], options)
  const port = await freePort()
  const lines = Object.entries({ ...settings, port }).map(([name, value]) => `${name} = '${value}'\n`)
  await appendFile(join(data, 'postgresql.conf'), lines.join(''))
  const control = (...words: string[]) => run(join(programs, 'pg_ctl'), ['-D', data, '-w', ...words], options)
  await control('start', '-l', join(home, 'log'))
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    stop: () => control('stop', '-m', 'immediate'),
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
