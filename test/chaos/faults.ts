import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Behaviour, Restartable, Stage } from './stage.ts'

const run = promisify(execFile)

/** Something that goes wrong. `kills`: processes that it kills, each of which can have been in the middle of a mail. */
export interface Fault {
  name: string
  kills: number
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
