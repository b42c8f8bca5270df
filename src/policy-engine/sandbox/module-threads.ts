import { setPriority } from 'node:os'
import { setTimeout as sleep, setImmediate as turnOfLoop } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { cpuMsOf } from './thread-cpu.ts'
import { endsOfProcess } from './thread-ends.ts'
import { type Exchange, openExchange, sharedMemory, state } from './thread-exchange.ts'

/** The CPU time of one evaluation, in ms: then its thread has to end. */
export const maxEvaluationMs = 5

/** A thread of modules. It has one query at a time. */
export interface Thread {
  worker: Worker
  exchange: Exchange
  /** resolves when it is ready, or has failed */
  started: Promise<void>
  /** The query that was given up while the thread still works on it: what to do if it takes too long. */
  late?: { since: number; onTooLong: () => void }
  /** it took too long, and ends as soon as the process may end one */
  isEnding?: boolean
}

/** The threads of a pool. */
export interface ModuleThreads {
  /** A thread that waits for a query. Without one it starts another, if there is room, and gives undefined at once. */
  ready(): Thread | undefined
  /**
   * Leaves a thread alone with a query that was given up. It is ready again after the answer, and ends after 5 ms of CPU
   * time: `onTooLong` is called once then.
   */
  giveUp(thread: Thread, onTooLong: () => void): void
  /** Resolves when a thread is ready, or after two seconds. */
  warm(): Promise<void>
  close(): Promise<void>
}

const file = new URL('./module-thread.ts', import.meta.url)
const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 8, stackSizeMb: 2 }
const maxWarmMs = 2_000
const lookMs = 5
const lowestPriority = 19

/** One thread of a process starts at a time, because a start costs 0.1 s of CPU time. */
let starting: Promise<unknown> = Promise.resolve()

/** Keeps up to `size` threads. They start with the first use, and one that ends is replaced. */
export function openModuleThreads(size: number, url: URL = file): ModuleThreads {
  let threads: Thread[] = []
  let isClosed = false
  let isFilling = false
  let looking: NodeJS.Timeout | undefined
  let warming: Promise<void> | undefined

  const start = async () => {
    if (isClosed) return
    const thread = startThread(url)
    threads.push(thread)
    // One that never began is not replaced until it is needed: that would go on for ever.
    thread.worker.once('exit', () => {
      threads = threads.filter((one) => one !== thread)
      if (hasBegun(thread)) fill()
    })
    await thread.started
    isFilling = false
    if (hasBegun(thread)) fill()
  }
  const fill = () => {
    if (isClosed || isFilling || threads.length >= size) return
    isFilling = true
    // In a later turn, so that the request that found no thread does not wait for the start of one.
    starting = starting
      .then(() => turnOfLoop())
      .then(start)
      .catch(() => {
        isFilling = false
      })
  }
  const endInTurn = (thread: Thread) => {
    const waitMs = endsOfProcess.take()
    if (waitMs > 0) setTimeout(endInTurn, waitMs, thread).unref()
    else void thread.worker.terminate()
  }
  const look = () => {
    looking = undefined
    for (const thread of threads) {
      const { late } = thread
      if (!late) continue
      if (isDone(thread)) delete thread.late
      else if (!isInTime(thread, late.since)) {
        delete thread.late
        thread.isEnding = true
        yieldCpu(thread)
        late.onTooLong()
        endInTurn(thread)
      }
    }
    lookSoon()
  }
  const untilReady = async () => {
    const end = performance.now() + maxWarmMs
    while (!isClosed && !threads.some(isReady) && performance.now() < end) {
      fill()
      await sleep(lookMs)
    }
  }
  const lookSoon = () => {
    if (!isClosed && threads.some(({ late }) => late)) looking ??= setTimeout(look, lookMs).unref()
  }

  return {
    ready() {
      const thread = threads.find(isReady)
      if (!thread) fill()
      return thread
    },
    giveUp(thread, onTooLong) {
      thread.late = { since: performance.now(), onTooLong }
      look()
    },
    warm() {
      if (threads.some(isReady)) return Promise.resolve()
      // All who wait share one look at the threads.
      warming ??= untilReady().finally(() => {
        warming = undefined
      })
      return warming
    },
    async close() {
      isClosed = true
      clearTimeout(looking)
      await Promise.all(threads.map(({ worker }) => worker.terminate()))
    },
  }
}

function startThread(url: URL): Thread {
  const shared = sharedMemory()
  // Without an empty execArgv the thread would load the modules that the process was started with (--import).
  const worker = new Worker(url, { workerData: { shared }, execArgv: [], env: {}, resourceLimits })
  worker.unref()
  const started = new Promise<void>((resolve) => {
    worker.once('message', () => resolve())
    worker.once('exit', () => resolve())
    worker.on('error', () => resolve())
  })
  return { worker, exchange: openExchange(shared), started }
}

const stateOf = ({ exchange: { control } }: Thread) => Atomics.load(control, 0)
const hasBegun = (thread: Thread) => stateOf(thread) !== state.starting
const isDone = (thread: Thread) => stateOf(thread) === state.done
const isReady = (thread: Thread) => hasBegun(thread) && !thread.late && !thread.isEnding

/** Whether the evaluation has had less CPU time than its deadline. It does not run out while a busy machine runs others. */
function isInTime(thread: Thread, since: number): boolean {
  const { exchange } = thread
  if (stateOf(thread) !== state.running) return true
  const usedMs = cpuMsOf(exchange.threadId()) - exchange.cpuAtBegin()
  return Number.isNaN(usedMs) ? performance.now() - since < maxEvaluationMs : usedMs < maxEvaluationMs
}

/** Until a thread can end, it works only when nothing else does. */
function yieldCpu({ exchange }: Thread): void {
  if (exchange.threadId() === 0) return
  try {
    setPriority(exchange.threadId(), lowestPriority)
  } catch {
    // It ended already.
  }
}
