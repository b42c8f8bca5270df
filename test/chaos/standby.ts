import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, chown, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  chooseAccount,
  findBinaries,
  serverEnvironment,
} from '../../src/start/development/postgres-binaries.ts'
import { query } from '../helpers/query.ts'

/** A server that replicates another one. */
export interface Standby {
  port: number
  /** address of the superuser */
  url: string
  stop(): Promise<void>
}

/**
 * Copies the stopped cluster in `home` to `copy`, and starts the copy as a standby named `standby` of the primary at `url`, where
 * it keeps asking until the primary runs. `settings` are server settings.
 */
export async function startStandby(
  home: string,
  copy: string,
  { url, port, settings = {} }: { url: string; port: number; settings?: Record<string, string> },
): Promise<Standby> {
  await cp(home, copy, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
  const data = join(copy, 'data')
  const { hostname, port: primaryPort, password } = new URL(url)
  const primary = `host=${hostname} port=${primaryPort} user=postgres password=${password} application_name=standby`
  await writeFile(join(data, 'standby.signal'), '')
  await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${primary}'\n`)
  await rm(join(data, 'postmaster.pid'), { force: true })
  const account = await chooseAccount()
  if (account.uid !== undefined) await giveTo(data, account.uid, account.gid ?? account.uid)
  const { native } = await findBinaries(copy, account)
  const flags = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    ...settings,
  }
  const child = spawn(
    join(native, 'bin', 'postgres'),
    ['-D', data, ...Object.entries(flags).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...account, cwd: copy, env: serverEnvironment, stdio: 'ignore' },
  )
  const exit = once(child, 'exit')
  const own = Object.assign(new URL(url), { port: String(port) }).href
  const stop = async () => {
    child.kill('SIGINT')
    await exit
  }
  await untilAnswers(own).catch(async (error) => {
    await stop()
    throw error
  })
  return { port, url: own, stop }
}

/** Resolves when the server answers a query. */
async function untilAnswers(url: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const answer = await query(url, 'select 1').catch((error: Error) => error)
    if (!(answer instanceof Error)) return
    if (tries === 200) throw answer
    await sleep(50)
  }
}

async function giveTo(path: string, uid: number, gid: number): Promise<void> {
  await chown(path, uid, gid)
  for (const entry of await readdir(path, { recursive: true })) await chown(join(path, entry), uid, gid)
}

/** The process id of the server whose files are in `home`. */
export const serverIn = async (home: string): Promise<number> =>
  Number.parseInt(await readFile(join(home, 'data', 'postmaster.pid'), 'utf8'), 10)
