import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import type { Test } from 'tap'
import { chooseAccount, serverEnvironment } from '../../src/start/development/postgres-binaries.ts'
import { volatileSettings } from '../../tools/tests/test-cluster.ts'
import { freePort } from '../workers/stage.ts'

const run = promisify(execFile)
const needed = ['initdb', 'postgres', 'psql', 'pg_dump', 'pg_dumpall', 'pg_restore']

/**
 * The folder of an installed Postgres with server and tools of the same version, or undefined. The embedded one has no
 * pg_dump, and pg_dump refuses a server newer than itself.
 */
export function findInstalled(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...process.env.PATH!.split(delimiter),
  ]
  return folders.find((folder) => needed.every((name) => existsSync(join(folder, name))))
}

export type Tool = 'psql' | 'pg_dump' | 'pg_dumpall' | 'pg_restore'

/** Runs a tool; returns its exit code and output. */
export async function runTool(bin: string, tool: Tool, ...args: string[]) {
  return run(join(bin, tool), args, { maxBuffer: 1e8, env: { ...process.env, LC_ALL: 'C' } }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code: code as number, stdout, stderr }),
  )
}

/** Starts a cluster that ends with the test; returns a function from a database name to the superuser's URL. */
export async function startCluster(t: Test, bin: string): Promise<(database: string) => string> {
  const account = await chooseAccount()
  const home = mkdtempSync(join(tmpdir(), 'bailiwick-cluster-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  const password = randomBytes(12).toString('hex')
  const file = join(home, 'password')
  writeFileSync(file, password)
  if (account.uid !== undefined)
    for (const path of [home, file]) chownSync(path, account.uid, account.gid ?? account.uid)
  chmodSync(home, 0o700)
  const data = join(home, 'data')
  const options = { ...account, cwd: home, env: serverEnvironment }
  const initial = ['-D', data, '-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${file}`, '-E', 'UTF8']
  await run(join(bin, 'initdb'), initial, options)
  const port = await freePort()
  const settings = { ...volatileSettings, listen_addresses: '127.0.0.1', unix_socket_directories: '' }
  const flags = Object.entries({ ...settings, port }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = spawn(join(bin, 'postgres'), ['-D', data, ...flags], { ...options, stdio: 'ignore' })
  const ended = once(server, 'exit')
  t.teardown(async () => {
    server.kill('SIGQUIT')
    await ended
  })
  const urlOf = (database: string) => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`
  while (!(await answers(urlOf('postgres')))) {
    if (server.exitCode !== null) throw new Error(`Postgres ended with ${server.exitCode}`)
    await sleep(50)
  }
  return urlOf
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}
