import { DelayedError as BullDelayedError, type Job, type JobState, type Queue, type Worker } from 'bullmq'
import { z } from 'zod'
import type { Sample } from '../../observe/metrics/read-sources.ts'
import { DelayedError } from './delayed-error.ts'
import { postgresConnections } from './postgres-connections.ts'
import { type CarriedMessage, carriedMessage, type QueuedMessage } from './queued-message.ts'
import { redisConnections } from './redis-connections.ts'

export interface ConsumerOptions {
  concurrency: number
  /** ms after which another process takes over the job of a dead one */
  lockDuration: number
  /** ms to wait before the attempt after this one (from 1) */
  retryDelay: (attempt: number, error: unknown) => number
  /** Called when a job is given up because processes died repeatedly while they ran it. */
  abandoned: (message: QueuedMessage, attempt: number) => Promise<void>
}

/** Handles one message. Throws {@link DelayedError} to delay it; any other error is a failed attempt. */
export type Work = (message: QueuedMessage, attempt: number) => Promise<void>

export interface Consumer {
  /** Takes no more jobs, and waits for the running ones unless forced. */
  close(force?: boolean): Promise<void>
  isRunning(): boolean
}

/** The queues. Both backends reconnect by themselves. */
export interface QueueBackend {
  /** Adds the messages that are not on the queue yet, by id. Throws when the server is unreachable. */
  add(queue: string, messages: QueuedMessage[]): Promise<void>
  /** Those of the jobs that do not exist any more, by id. */
  findLost(queue: string, jobs: readonly string[]): Promise<string[]>
  consume(queue: string, options: ConsumerOptions, work: Work): Promise<Consumer>
  /** Schedules an empty message every `every` ms. A queue has one schedule, however many processes ask for it. */
  schedule(queue: string, every: number): Promise<void>
  /** Retries every delayed job now; gives how many. */
  promote(queue: string): Promise<number>
  /** Measures these queues one after the other, which keeps connections free. */
  measure(queues: readonly string[]): Promise<Sample[]>
  close(): Promise<void>
}

/** How a backend connects BullMQ's queues and workers. */
export interface Connections {
  openQueue(name: string): Promise<Queue<JobData>>
  openWorker(
    name: string,
    work: (job: Job<JobData>, token?: string) => Promise<void>,
    options: { concurrency: number },
  ): Promise<Worker<JobData>>
  /** False when closing would wait for an unavailable server. */
  isReachable(): boolean
  close(): Promise<void>
}

export interface JobData {
  tenant_id: string
  payload: unknown
  /** The message, if the job has an id of its own. */
  message_id?: string
  others?: readonly CarriedMessage[]
  /** How many times its process had died when {@link staggerAfterCrash} last delayed it. */
  apart?: number
}

interface BackendOptions {
  /** Address of the role bailiwick_worker. */
  databaseUrl: string
  redisUrl?: string | undefined
  onError: (error: Error) => void
  /** Called when Redis can be reached, the first time included. */
  onReady?: () => void
}

/** Opens the queues: on Redis when `redisUrl` is set, else in the schema `bullmq`, which migrate creates. */
export function openQueueBackend({ databaseUrl, redisUrl, onError, onReady }: BackendOptions): QueueBackend {
  const connections = redisUrl
    ? redisConnections(redisUrl, onError, onReady)
    : postgresConnections(databaseUrl, onError)
  // On Postgres BullMQ creates two temporary tables for each bulk, which takes 7 ms of CPU; a single add takes 0.5 ms.
  const addedSingly = redisUrl ? 1 : 10
  const queues = new Map<string, Promise<Queue<JobData>>>()
  const queueNamed = (name: string) => {
    const queue = queues.get(name) ?? connections.openQueue(name)
    queues.set(name, queue)
    queue.catch(() => queues.delete(name)) // the server was unavailable: the next call opens it again
    return queue
  }
  return {
    async add(name, messages) {
      const queue = await queueNamed(name)
      const jobs = messages.map((message) => ({ name, data: dataOf(message), opts: jobOptions(message) }))
      if (jobs.length > addedSingly) await queue.addBulk(jobs)
      else for (const { data, opts } of jobs) await queue.add(name, data, opts)
    },
    async findLost(name, jobs) {
      const queue = await queueNamed(name)
      const states = await Promise.all(jobs.map((job) => queue.getJobState(job)))
      return jobs.filter((_job, index) => !alive.has(states[index]!))
    },
    consume: (name, options, work) => consume({ connections, onError }, name, options, work),
    async schedule(name, every) {
      const queue = await queueNamed(name)
      const data = { tenant_id: '', payload: { v: 1 } }
      const opts = { removeOnComplete: true, removeOnFail: true, stackTraceLimit: 0 }
      const found = await queue.getJobScheduler(name)
      // Upserting a schedule replaces its waiting run, so do it only when the schedule is missing or has stopped.
      const running = Number(found?.every) === every && (found?.next ?? 0) > Date.now() - 2 * every
      if (!running) await queue.upsertJobScheduler(name, { every }, { name, data, opts })
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
    staggerAfterCrash(job, lockDuration)
      .then(() => work(messageOf(job), job.attemptsMade + 1))
      .catch((error) => delayOrThrow(job, token, error))
  const options = {
    concurrency,
    lockDuration,
    stalledInterval: lockDuration,
    maxStalledCount: 5, // a dying process interrupts all its jobs; only the job that caused it is interrupted so often
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
 * The jobs of a dead process all return at the same moment. The job that killed it would run beside the same others
 * again and again, until all of them had stalled too often. So each job is delayed once per death, by a random time.
 */
async function staggerAfterCrash(job: Job<JobData>, longest: number): Promise<void> {
  if (job.stalledCounter <= (job.data.apart ?? 0)) return
  await job.updateData({ ...job.data, apart: job.stalledCounter })
  throw new DelayedError(Math.random() * longest)
}

/** Delays the job for a {@link DelayedError}; BullMQ's own DelayedError reports this to its worker. */
async function delayOrThrow(job: Job<JobData>, token: string | undefined, error: unknown): Promise<never> {
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

const dataOf = ({ id, tenantId, payload, job, others }: QueuedMessage): JobData => ({
  tenant_id: tenantId,
  payload,
  ...(job && { message_id: id }),
  ...(others && { others }),
})
/** Others can write to Redis, so what is no list of messages is left out. */
const messageOf = ({ id, data }: Job<JobData>): QueuedMessage => {
  const others = carried.safeParse(data.others)
  return {
    id: data.message_id ?? id!,
    tenantId: data.tenant_id,
    payload: data.payload,
    ...(others.success && { others: others.data }),
  }
}
const carried = z.array(carriedMessage)

/**
 * The actor counts attempts and moves a message that failed for good to the dead letters; the queue keeps no history.
 */
const jobOptions = ({ id, job = id }: QueuedMessage) => ({
  jobId: job,
  attempts: 1_000_000,
  backoff: { type: 'actor' },
  removeOnComplete: true,
  removeOnFail: true,
  stackTraceLimit: 0,
})

const states = ['waiting', 'active', 'delayed'] as const

/** How many delayed jobs are examined, starting with the longest delay, which the oldest jobs have. */
const maxDelayed = 100

/** The number of jobs on a queue by state, and the age of the oldest job that waits, also for a retry. */
async function measureQueue(name: string, queue: Queue): Promise<Sample[]> {
  const counts = await queue.getJobCounts(...states)
  const [oldest] = await queue.getJobs(['waiting'], 0, 0, true)
  // A delayed job waits since the end of its delay. BullMQ writes times by the clock of the machine.
  const since = oldest && oldest.timestamp + (oldest.opts.delay ?? 0)
  const delayed = await queue.getJobs(['delayed'], 0, maxDelayed - 1, false)
  // A job delayed without a failure is not late: it is the next run of a schedule, or a webhook that is not due.
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
