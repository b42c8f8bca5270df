import { execFile } from 'node:child_process'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { nextRelease } from '../upgrade/release.ts'
import type { Behaviour } from './receivers.ts'
import type { Restartable, Stage } from './stage.ts'

const run = promisify(execFile)

/** Something that goes wrong. `kills`: processes that it kills, each of which can have been in the middle of a mail. */
export interface Fault {
  name: string
  kills: number
  /** True if every request has to succeed meanwhile. */
  isSmooth?: boolean
  /** Breaks something and mends it. `long` is longer in the whole run. */
  happen(stage: Stage, long: boolean): Promise<void>
}

const killed = async (process: Restartable) => {
  await process.kill('SIGKILL')
  await process.start()
}

const receiverIs =
  (behaviour: Behaviour, ms: number): Fault['happen'] =>
  async ({ receiver }) => {
    receiver.behaviour = behaviour
    await sleep(ms)
    receiver.behaviour = 'accept'
  }

/** Restarts everything on a release with one more migration, as docs/how-to/upgrade.md says. */
async function upgrade({ apis, workers, config, superuserUrl, atEnd }: Stage): Promise<void> {
  const folder = await nextRelease(
    { teardown: atEnd as never },
    {
      '9999-chaos.sql': `alter table roles add column chaos text;
create index roles_by_chaos on roles (tenant_id, chaos);`,
    },
  )
  const next: typeof import('../../src/database/migrate/migrate.ts') = await import(
    join(folder, 'src', 'database', 'migrate', 'migrate.ts')
  )
  await next.migrate(await superuserUrl(), {
    api: config.DATABASE_API_URL!,
    system: config.DATABASE_SYSTEM_URL!,
    worker: config.DATABASE_WORKER_URL!,
  })
  for (const process of [...workers, ...apis]) {
    await process.kill('SIGTERM')
    await process.start(folder)
    await sleep(1_000) // until the balancer has seen it
  }
}

/** Fills the disk of Postgres to the last block, for a while. Postgres ends when it cannot write its log. */
async function fillDisk({ smallDisk, startPostgres }: Stage, long: boolean): Promise<void> {
  const ballast = join(smallDisk!, 'ballast')
  const file = await open(ballast, 'w')
  try {
    for (let size = 16 * 2 ** 20; size >= 4_096; size /= 2)
      for (let n = 0; n < 1_000 && (await writes(file, size)); n++);
    await sleep(long ? 15_000 : 5_000)
  } finally {
    await file.close()
    await rm(ballast)
  }
  await startPostgres()
}

const writes = (file: FileHandle, size: number) =>
  file.appendFile(Buffer.alloc(size, 1)).then(
    () => true,
    () => false,
  )

export const fullDisk: Fault = { name: 'fill the disk of Postgres', kills: 0, happen: fillDisk }

export const faults: Fault[] = [
  { name: 'kill -9 an API', kills: 0, happen: ({ apis }) => killed(apis[0]!) },
  { name: 'kill -9 a worker', kills: 1, happen: ({ workers }) => killed(workers[0]!) },
  {
    name: 'kill -9 both workers',
    kills: 2,
    async happen({ workers }) {
      await Promise.all(workers.map((worker) => worker.kill('SIGKILL')))
      await sleep(2_000)
      await Promise.all(workers.map((worker) => worker.start()))
    },
  },
  {
    name: 'kill -9 Postgres',
    kills: 0,
    async happen({ postgresPid, startPostgres }) {
      process.kill(await postgresPid(), 'SIGKILL')
      await sleep(1_000)
      await startPostgres()
    },
  },
  {
    name: 'freeze Postgres',
    kills: 0,
    async happen({ postgresPid }, long) {
      const pids = await withChildren(await postgresPid())
      for (const pid of pids) signal(pid, 'SIGSTOP')
      await sleep(long ? 30_000 : 8_000)
      for (const pid of pids) signal(pid, 'SIGCONT')
    },
  },
  {
    name: 'stop the mail server',
    kills: 0,
    async happen({ mail }, long) {
      await mail.stop()
      await sleep(long ? 30_000 : 5_000)
      await mail.start()
    },
  },
  { name: 'a receiver refuses', kills: 0, happen: receiverIs('refuse', 3_000) },
  { name: 'a receiver stalls', kills: 0, happen: receiverIs('stall', 3_000) },
  { name: 'a receiver never ends its answer', kills: 0, happen: receiverIs('lie', 2_000) },
  { name: 'a receiver redirects', kills: 0, happen: receiverIs('redirect', 2_000) },
  {
    name: 'clocks jump five minutes, and back',
    kills: 0,
    async happen({ apis, workers }) {
      const jumping = [apis[0]!, workers[0]!]
      for (const { pid } of jumping) signal(pid(), 'SIGUSR2')
      await sleep(5_000)
      for (const { pid } of jumping) signal(pid(), 'SIGUSR2')
    },
  },
  { name: 'a rolling restart across a migration', kills: 0, isSmooth: true, happen: upgrade },
]

/** With the queues and limits on Redis. */
export const redisFaults: Fault[] = [
  {
    name: 'kill -9 Redis, with all it held',
    kills: 0,
    async happen({ redis }) {
      await redis!.kill('SIGKILL')
      await sleep(2_000)
      await redis!.start()
    },
  },
  {
    name: 'flush Redis',
    kills: 0,
    happen: async ({ redis }) => void (await run('redis-cli', ['-u', redis!.url, 'flushall'])),
  },
]

const signal = (pid: number, name: NodeJS.Signals) => {
  try {
    process.kill(pid, name)
  } catch {
    // It has just ended.
  }
}

async function withChildren(pid: number): Promise<number[]> {
  const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(pid)])
  return [pid, ...stdout.split('\n').map(Number).filter(Boolean)]
}
