import { Worker } from 'node:worker_threads'
import { createModulePauses, type PauseBy } from './module-pauses.ts'
import type { NextModule } from './module-thread.ts'
import { cpuMsOf } from './thread-cpu.ts'
import {
  type Exchange,
  type ModuleAnswer,
  maxInputBytes,
  openExchange,
  sharedMemory,
  state,
} from './thread-exchange.ts'

/** A compiled module of a tenant; the same key is always the same module. */
export interface TenantModule {
  key: string
  wasm: Uint8Array<ArrayBuffer>
}

/**
 * What came of an evaluation: findings with the CPU time that they took in ms, or `late` (time, memory) or `failed` (any
 * other fault, or an input too long).
 */
export type ModuleOutcome =
  | { findings: readonly string[]; usedMs: number }
  | {
      fault: 'late' | 'failed'
      why: string
      /** The module ran too long, and its thread was terminated for it. */
      killed: boolean
      /** The thread was terminated for no fault of the module. */
      isStuck?: boolean
      usedMs?: number
    }

/** Evaluates modules of tenants in threads of its own. */
export interface ModulePool {
  /**
   * Evaluates a module of a tenant with an input (JSON), synchronously, as decisions are. After 5 ms of CPU time its
   * thread is terminated, and it is late at once while it pauses (see `createModulePauses`). Never throws.
   */
  evaluate(tenantId: string, module: TenantModule, input: string): ModuleOutcome
  /** Starts the threads; resolves when one is ready, so that the first evaluation does not wait for its start. */
  warm(): Promise<void>
  close(): Promise<void>
}

/** The CPU time of one evaluation, in ms. */
export const moduleDeadlineMs = 5
// A thread that gets no CPU is not late. But a decision does not wait longer than this.
const maxWaitMs = 100
const maxStartMs = 1_000
const maxLoadMs = 500
const file = new URL('./module-thread.ts', import.meta.url)
const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 8, stackSizeMb: 2 }

interface Thread {
  worker: Worker
  exchange: Exchange
  /** the keys of the modules that it has had; it can have dropped one */
  sent: Set<string>
  /** resolves when it is ready, or has failed */
  started: Promise<void>
}

export interface PoolOptions {
  /** what pauses after a kill */
  pauseBy: PauseBy
  /** threads that wait for the one that evaluates to be killed */
  spares: number
  /** the module of a thread */
  thread?: URL
}

/** Makes a pool. Its threads start with the first use: one that evaluates, and spares for when it is killed. */
export function createModulePool({ pauseBy, spares, thread: url = file }: PoolOptions): ModulePool {
  let threads: Thread[] = []
  let isClosed = false
  const pauses = createModulePauses(pauseBy)
  const fill = () => {
    while (!isClosed && threads.length <= spares) {
      const thread = startThread(url)
      threads.push(thread)
      // One that ends by itself, out of memory, is replaced, unless it never began: that would go on for ever.
      thread.worker.once('exit', () => {
        const isKnown = threads.includes(thread)
        threads = threads.filter((one) => one !== thread)
        if (isKnown && isReady(thread)) fill()
      })
    }
  }
  const replace = (thread: Thread) => {
    threads = threads.filter((one) => one !== thread)
    void thread.worker.terminate()
    // Later, so that the request that found the thread late does not wait for the start of another one.
    setImmediate(fill)
  }
  return {
    evaluate(tenantId, module, input) {
      if (Buffer.byteLength(input) > maxInputBytes) return failed('the input is too long')
      if (pauses.isPaused(tenantId, module.key)) return { ...late('paused'), killed: false }
      if (threads.length === 0) fill()
      const thread = threads.find(isReady) ?? threads[0]!
      const outcome = evaluateIn(thread, module, input)
      if (!('fault' in outcome)) return outcome
      // A thread that does not start is no fault of the tenant that waits for it.
      if (outcome.killed || outcome.isStuck) replace(thread)
      if (outcome.killed) pauses.charge(tenantId, module.key)
      return outcome
    },
    async warm() {
      fill()
      await Promise.race(threads.map(({ started }) => started))
    },
    async close() {
      isClosed = true
      const ended = threads
      threads = []
      await Promise.all(ended.map(({ worker }) => worker.terminate()))
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
    // A thread that fails answers no more, and is then late.
    worker.on('error', () => resolve())
  })
  return { worker, exchange: openExchange(shared), sent: new Set(), started }
}

function evaluateIn(thread: Thread, module: TenantModule, input: string): ModuleOutcome {
  const { worker, exchange, sent } = thread
  const { control } = exchange
  if (!hasLeft(control, state.starting, maxStartMs)) return stuck('the thread did not start')
  const next: NextModule = sent.has(module.key) ? { key: module.key } : module
  worker.postMessage(next)
  sent.add(module.key)
  exchange.post(input)
  if (!hasLeft(control, state.posted, maxLoadMs)) return stuck('the module did not load')
  if (!hasLeft(control, state.running, moduleDeadlineMs)) {
    const end = waitForCpuTime(exchange)
    if (end !== 'done') return end === 'late' ? late('it took too long') : stuck('the thread had no CPU')
  }
  const answer = exchange.read()
  if (!('dropped' in answer)) return outcomeOf(answer, exchange.usedMs())
  sent.delete(module.key)
  return evaluateIn(thread, module, input)
}

const isReady = ({ exchange: { control } }: Thread) => Atomics.load(control, 0) !== state.starting

const stuck = (why: string) => ({ fault: 'late', why, killed: false, isStuck: true }) as const
const late = (why: string) => ({ fault: 'late', why, killed: true }) as const
const failed = (why: string) => ({ fault: 'failed', why, killed: false }) as const

const hasLeft = (control: Int32Array, from: number, ms: number): boolean =>
  Atomics.wait(control, 0, from, ms) !== 'timed-out'

/** Goes on waiting as long as the thread has had less CPU time than the deadline, because others had it. */
function waitForCpuTime({ control, cpuAtBegin, threadId }: Exchange): 'done' | 'late' | 'starved' {
  const end = performance.now() + maxWaitMs
  while (performance.now() < end) {
    const used = cpuMsOf(threadId()) - cpuAtBegin() / 1000
    if (!(used < moduleDeadlineMs)) return Atomics.load(control, 0) === state.done ? 'done' : 'late'
    if (hasLeft(control, state.running, moduleDeadlineMs - used)) return 'done'
  }
  return 'starved'
}

// Messages of the module itself, for the log of an operator.
const outOfMemory = /malloc|memory|grow/i

// The thread goes on: only the instance is dropped.
function outcomeOf(answer: ModuleAnswer, usedMs: number): ModuleOutcome {
  if ('findings' in answer) return { ...answer, usedMs }
  const { failed: why } = answer
  return { ...(outOfMemory.test(why) ? { ...late(why), killed: false } : failed(why)), usedMs }
}
