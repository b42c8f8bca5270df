import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { chooseAccount } from '../../src/start/development/postgres-binaries.ts'
import { freePort } from '../workers/stage.ts'

/** A user of Postgres and their password. */
export interface PoolerUser {
  name: string
  password: string
}

/**
 * Starts PgBouncer (1.18 or newer, Debian package `pgbouncer`) in transaction mode in front of the Postgres at `url`, with
 * the settings of docs/how-to/scale.md. Gives its port on 127.0.0.1, and the function that stops it.
 */
export async function startPgBouncer(
  url: string,
  users: readonly PoolerUser[],
): Promise<{ port: number; stop(): Promise<void> }> {
  const { hostname, port: postgresPort } = new URL(url)
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-pooler-'))
  const account = await chooseAccount() // it refuses to run as root
  const port = await freePort()
  const settings = [
    '[databases]',
    `* = host=${hostname} port=${postgresPort}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'pool_mode = transaction',
    'default_pool_size = 8',
    'max_client_conn = 2000',
    'ignore_startup_parameters = extra_float_digits,options,statement_timeout,idle_in_transaction_session_timeout',
    'auth_type = plain',
    `auth_file = ${join(folder, 'users')}`,
    'log_connections = 0',
    'log_disconnections = 0',
  ]
  await writeFile(join(folder, 'pgbouncer.ini'), `${settings.join('\n')}\n`)
  await writeFile(
    join(folder, 'users'),
    users.map(({ name, password }) => `"${name}" "${password}"\n`).join(''),
  )
  await chmod(folder, 0o700)
  if (account.uid !== undefined)
    for (const path of [folder, join(folder, 'pgbouncer.ini'), join(folder, 'users')])
      await chown(path, account.uid, account.gid ?? account.uid)
  const child = spawn('pgbouncer', ['-q', join(folder, 'pgbouncer.ini')], {
    ...account,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exit = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGINT')
    await exit
    await rm(folder, { recursive: true, force: true })
  }
  await untilOpen(port).catch(async (error) => {
    await stop()
    throw error
  })
  return { port, stop }
}

async function untilOpen(port: number): Promise<void> {
  for (let tries = 0; ; tries++) {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'nobody', database: 'none' })
    const error = await client.connect().then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error,
    )
    await client.end().catch(() => undefined)
    if (error?.code !== 'ECONNREFUSED') return
    if (tries === 100) throw new Error('PgBouncer does not listen')
    await sleep(50)
  }
}
