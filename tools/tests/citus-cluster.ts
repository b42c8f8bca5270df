import { execFile } from 'node:child_process'
import { appendFile, chmod, chown, glob, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import {
  type Account,
  chooseAccount,
  serverEnvironment,
} from '../../src/start/development/postgres-binaries.ts'
import { volatileSettings } from './test-cluster.ts'

const run = promisify(execFile)

/** Postgres servers with Citus, the coordinator first. Their databases know nothing of each other yet. */
export interface CitusCluster {
  superuserUrls: string[]
  /** Runs pg_ctl for the server of an address: `stop -m immediate`, or `start`. */
  control(url: string, ...words: string[]): Promise<unknown>
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
  // Rows of tenants are moved to another node by logical replication.
  wal_level: 'logical',
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
  const controls = new Map<string, (...words: string[]) => Promise<unknown>>()
  const remove = async () => {
    for (const control of controls.values()) await control('stop', '-m', 'immediate').catch(() => undefined)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    for (let number = 0; number < size; number++)
      controls.set(...(await startNode(programs, account, folder, number)))
  } catch (error) {
    await remove()
    throw error
  }
  return {
    superuserUrls: [...controls.keys()],
    control: (url, ...words) => controls.get(url)!(...words),
    remove,
  }
}

/** Starts a server; gives its address, and pg_ctl for it. */
async function startNode(
  programs: string,
  account: Account,
  folder: string,
  number: number,
): Promise<[string, (...words: string[]) => Promise<unknown>]> {
  const home = await mkdtemp(join(folder, `node-${number}-`))
  if (account.uid !== undefined) await chown(home, account.uid, account.gid!)
  const data = join(home, 'data')
  const options = { ...account, cwd: '/', env: serverEnvironment }
  await run(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-sync'],
    options,
  )
  const port = await freePort()
  const lines = Object.entries({ ...settings, port }).map(([name, value]) => `${name} = '${value}'\n`)
  await appendFile(join(data, 'postgresql.conf'), lines.join(''))
  const fixed = ['-D', data, '-w', '-l', join(home, 'log')]
  const control = (...words: string[]) => run(join(programs, 'pg_ctl'), [...fixed, ...words], options)
  await control('start')
  return [`postgres://postgres@127.0.0.1:${port}/postgres`, control]
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
