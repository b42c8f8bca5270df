import { DelayedError as BullDelayedError, type Job, type JobState, type Queue, type Worker } from 'bullmq'
import type { Sample } from '../metrics/read-sources.ts'
import { DelayedError } from './delayed-error.ts'
import { postgresConnections } from './postgres-connections.ts'
import { redisConnections } from './redis-connections.ts'

/** A message on its way; `id` is the outbox row's and the job's. */
export interface QueuedMessage {
  id: string
  tenantId: string
  payload: unknown
}

export interface ConsumerOptions {
  concurrency: number
  /** ms after which the job of a process that died may be given to another */
  lockDuration: number
  /** ms to wait before the attempt after this one (from 1) */
  retryDelay: (attempt: number, error: unknown) => number
  /** Called when a job is given up, because processes kept dying over it. */
  abandoned: (message: QueuedMessage, attempt: number) => Promise<void>
}

/** May throw {@link DelayedError}; whatever else it throws is an attempt that failed. */
export type Work = (message: QueuedMessage, attempt: number) => Promise<void>

export interface Consumer {
  /** Takes no more jobs; waits for those at hand, unless forced. */
  close(force?: boolean): Promise<void>
  isRunning(): boolean
}

/** Where jobs wait. Both backends come back by themselves when their server does. */
export interface QueueBackend {
  /** Adds what is not there yet, by id; throws when the server is out of reach. */
  add(queue: string, messages: QueuedMessage[]): Promise<void>
  /** Those of the messages that no job stands for any more. */
  findLost(queue: string, messages: QueuedMessage[]): Promise<QueuedMessage[]>
  consume(queue: string, options: ConsumerOptions, work: Work): Promise<Consumer>
  /** Has the queue deliver an empty message every so many ms; one schedule per queue, whoever asks and how often. */
  schedule(queue: string, every: number): Promise<void>
  /** Has every job that waits to be tried again tried now; gives how many. */
  promote(queue: string): Promise<number>
  /** What is on these queues now; one is asked after the other, which keeps connections free. */
  measure(queues: readonly string[]): Promise<Sample[]>
  /** The queues themselves, to be looked at; rejects where the server is away. */
  open(queues: readonly string[]): Promise<Queue[]>
  close(): Promise<void>
}

/** What differs between the backends: how queues and workers of BullMQ are connected. */
export interface Connections {
  openQueue(name: string): Promise<Queue<JobData>>
  openWorker(
    name: string,
    work: (job: Job<JobData>, token?: string) => Promise<void>,
    options: { concurrency: number },
  ): Promise<Worker<JobData>>
  /** False where closing would wait for a server that is away. */
  isReachable(): boolean
  close(): Promise<void>
}

export interface JobData {
  tenant_id: string
  payload: unknown
  /** How often its process had died when it was last put off for that. */
  apart?: number
}

interface BackendOptions {
  /** Address of the role bailiwick_worker. */
  databaseUrl: string
  redisUrl?: string | undefined
  onError: (error: Error) => void
}

/** Opens the queues: on Redis where `redisUrl` is set, else in the schema `bullmq`, which migrate has made. */
export function openQueueBackend({ databaseUrl, redisUrl, onError }: BackendOptions): QueueBackend {
  const connections = redisUrl
    ? redisConnections(redisUrl, onError)
    : postgresConnections(databaseUrl, onError)
  // On Postgres BullMQ makes two temporary tables for each bulk: 7 ms of its processor, for one job alone half a ms.
  const addedSingly = redisUrl ? 1 : 10
  const queues = new Map<string, Promise<Queue<JobData>>>()
  const queueNamed = (name: string) => {
    const queue = queues.get(name) ?? connections.openQueue(name)
    queues.set(name, queue)
    queue.catch(() => queues.delete(name)) // opened while the server was away: the next call opens it again
    return queue
  }
  return {
    async add(name, messages) {
      const queue = await queueNamed(name)
      const jobs = messages.map((message) => ({ name, data: dataOf(message), opts: jobOptions(message) }))
      if (jobs.length > addedSingly) await queue.addBulk(jobs)
      else for (const { data, opts } of jobs) await queue.add(name, data, opts)
    },
    async findLost(name, messages) {
      const queue = await queueNamed(name)
      const states = await Promise.all(messages.map((message) => queue.getJobState(message.id)))
      return messages.filter((_message, index) => !alive.has(states[index]!))
    },
    consume: (name, options, work) => consume({ connections, onError }, name, options, work),
    async schedule(name, every) {
      const queue = await queueNamed(name)
      const data = { tenant_id: '', payload: { v: 1 } }
      const opts = { removeOnComplete: true, removeOnFail: true, stackTraceLimit: 0 }
      const found = await queue.getJobScheduler(name)
      // Naming a schedule again replaces the run that waits, so it is named where it is missing or stands still.
      const alive = Number(found?.every) === every && (found?.next ?? 0) > Date.now() - 2 * every
      if (!alive) await queue.upsertJobScheduler(name, { every }, { name, data, opts })
    },
    async promote(name) {
      const queue = await queueNamed(name)
      const { delayed = 0 } = await queue.getJobCounts('delayed')
      await queue.promoteJobs()
      return delayed
    },
    async measure(names) {
      const samples: Sample[] = []
      for (const name of names) samples.push(...(await measureQueue(name, await queueNamed(name))))
      return samples
    },
    async open(names) {
      const opened: Queue[] = []
      for (const name of names) opened.push(await queueNamed(name))
      return opened
    },
    async close() {
      const open = await Promise.allSettled(queues.values())
      await Promise.allSettled(open.map((queue) => queue.status === 'fulfilled' && queue.value.close()))
      await connections.close()
    },
  }
}

interface Connected {
  connections: Connections
  onError: (error: Error) => void
}

async function consume(
  { connections, onError }: Connected,
  name: string,
  { concurrency, lockDuration, retryDelay, abandoned }: ConsumerOptions,
  work: Work,
): Promise<Consumer> {
  const backoffStrategy = (attempt: number, _type: string, error: unknown) => retryDelay(attempt, error)
  const process = (job: Job<JobData>, token?: string) =>
    setApart(job, lockDuration)
      .then(() => work(messageOf(job), job.attemptsMade + 1))
      .catch((error) => putOff(job, token, error))
  const options = {
    concurrency,
    lockDuration,
    stalledInterval: lockDuration,
    maxStalledCount: 5, // a process that dies takes others' jobs with it; the job is guilty when it happens often
    runRetryDelay: 250,
    settings: { backoffStrategy },
  }
  const worker = await connections.openWorker(name, process, options)
  worker.on('failed', (job, error) => {
    if (job && error.name === 'UnrecoverableError') abandoned(messageOf(job), job.attemptsMade).catch(onError)
  })
  return {
    close: (force) => worker.close(force || !connections.isReachable()),
    isRunning: () => worker.isRunning(),
  }
}

/**
 * Jobs whose process died come back at the same moment, so the guilty one would meet the same others each time, until
 * all of them had died too often: each is put off once per death, by chance, and they part.
 */
async function setApart(job: Job<JobData>, longest: number): Promise<void> {
  if (job.stalledCounter <= (job.data.apart ?? 0)) return
  await job.updateData({ ...job.data, apart: job.stalledCounter })
  throw new DelayedError(Math.random() * longest)
}

/** Tells the queue when the job is to come again, and the worker that it has been told. */
async function putOff(job: Job<JobData>, token: string | undefined, error: unknown): Promise<never> {
  if (!(error instanceof DelayedError)) throw error
  await job.moveToDelayed(Date.now() + error.ms, token)
  throw new BullDelayedError()
}

const alive = new Set<JobState | 'unknown'>([
  'waiting',
  'active',
  'delayed',
  'prioritized',
  'waiting-children',
])

const dataOf = ({ tenantId, payload }: QueuedMessage): JobData => ({ tenant_id: tenantId, payload })
const messageOf = (job: Job<JobData>): QueuedMessage => ({
  id: job.id!,
  tenantId: job.data.tenant_id,
  payload: job.data.payload,
})

/** The caller counts attempts and buries what fails for good; the queue keeps no history of its own. */
const jobOptions = ({ id }: QueuedMessage) => ({
  jobId: id,
  attempts: 1_000_000,
  backoff: { type: 'caller' },
  removeOnComplete: true,
  removeOnFail: true,
  stackTraceLimit: 0,
})

const states = ['waiting', 'active', 'delayed'] as const

/** Looked at of those that wait to be tried again: the longest pauses are those of the oldest. */
const sampled = 100

/** How many jobs are on a queue, and how long the oldest of those that wait, or wait to be tried again, has waited. */
async function measureQueue(name: string, queue: Queue): Promise<Sample[]> {
  const counts = await queue.getJobCounts(...states)
  const [oldest] = await queue.getJobs(['waiting'], 0, 0, true)
  // What was delayed waits from the end of its delay on. BullMQ writes times by the clock of the machine.
  const since = oldest && oldest.timestamp + (oldest.opts.delay ?? 0)
  const delayed = await queue.getJobs(['delayed'], 0, sampled - 1, false)
  // What was put off without a failure is not late: the next run of a schedule, or a webhook that is not due.
  const failed = delayed.filter((job) => job?.attemptsMade > 0).map(({ timestamp }) => timestamp)
  const now = Date.now()
  const lag = Math.max(0, now - Math.min(since ?? now, ...failed)) / 1_000
  return [
    { gauge: 'queueLag', labels: { queue: name }, value: lag },
    ...states.map(
      (state) => ({ gauge: 'queueJobs', labels: { queue: name, state }, value: counts[state] ?? 0 }) as const,
    ),
  ]
}
