import { channel } from 'node:diagnostics_channel'
import { compileAhead, compiledModule } from './compiled-modules.ts'
import { createModulePauses, type EndsOf } from './module-pauses.ts'
import type { NextModule } from './module-thread.ts'
import { openModuleThreads, type Thread } from './module-threads.ts'
import { cpuMsOf } from './thread-cpu.ts'
import { type ModuleAnswer, maxInputBytes, state } from './thread-exchange.ts'

/** A module of a tenant with what it is asked for; the same key is always the same module. */
export interface ModuleTask extends EndsOf {
  key: string
  wasm: Uint8Array<ArrayBuffer>
  policyId: string
  version: number
}

/** A task that took more than 5 ms of CPU time, which costs its thread. `isInForce`: not only tried. */
export interface EndedTask extends Omit<ModuleTask, 'wasm'> {
  isInForce: boolean
}

/** Has a message (`EndedTask`) for each thread that has to end. */
export const endedTasks = channel('bailiwick:module-ended')

/**
 * Why a module gave no answer in time. A fixed list, for metrics. `no_cpu`: the machine ran others; `no_time`: the other
 * modules of the query were late, or used its time.
 */
export type LateReason = 'paused' | 'not_ready' | 'too_long' | 'no_cpu' | 'no_time' | 'memory'

/**
 * What came of an evaluation: findings with the CPU time that they took in ms, or `late` (time, memory) or `failed` (any
 * other fault, or an input too long).
 */
export type ModuleOutcome =
  | { findings: readonly string[]; usedMs: number }
  | { fault: 'late'; why: LateReason }
  | { fault: 'failed'; why: string }

/** The rest of a query's time: CPU time of a thread in ms, and the moment (`performance.now()`) when it ends. */
export interface TimeLeft {
  cpuMs: number
  until: number
}

/** Evaluates modules of tenants in threads of its own. */
export interface ModulePool {
  /**
   * Evaluates a module with an input (JSON), synchronously, as decisions are. It waits no longer than the time that is left,
   * and only for a thread that is ready: otherwise the module is late at once. Never throws.
   */
  evaluate(task: ModuleTask, input: string, left: TimeLeft): ModuleOutcome
  /** Compiles these modules, and waits for a thread that is ready, for two seconds at most. */
  warm(modules?: readonly Uint8Array<ArrayBuffer>[]): Promise<void>
  close(): Promise<void>
}

export interface PoolOptions {
  isInForce: boolean
  /** its threads: one evaluates, the others wait for it to end */
  threads: number
  /** the module of a thread */
  thread?: URL
}

/** Makes a pool. Its threads start with the first use. */
export function createModulePool({ isInForce, threads: size, thread: url }: PoolOptions): ModulePool {
  const pauses = createModulePauses()
  const threads = openModuleThreads(size, url)
  const end = ({ wasm: _wasm, ...task }: ModuleTask) => {
    pauses.charge(task)
    endedTasks.publish({ ...task, isInForce } satisfies EndedTask)
  }
  return {
    evaluate(task, input, left) {
      if (Buffer.byteLength(input) > maxInputBytes) return failed('the input is too long')
      if (pauses.isPaused(task)) return late('paused')
      const module = compiledModule(task.wasm)
      if (module === null) return failed('it is no module')
      if (!module) void compileAhead(task.wasm)
      const thread = threads.ready()
      if (!module || !thread) return late('not_ready')
      post(thread, { key: task.key, module }, input)
      const why = waitForAnswer(thread, left)
      if (!why) return outcomeOf(thread.exchange.read(), thread.exchange.usedMs())
      threads.giveUp(thread, () => end(task))
      return late(why)
    },
    async warm(modules = []) {
      await Promise.all([threads.warm(), ...modules.map(compileAhead)])
    },
    close: () => threads.close(),
  }
}

function post({ worker, exchange }: Thread, next: NextModule, input: string): void {
  worker.postMessage(next)
  exchange.post(input)
}

/** Waits for the answer as long as time is left; then says why there is none. */
function waitForAnswer({ exchange }: Thread, { cpuMs, until }: TimeLeft): LateReason | undefined {
  const { control } = exchange
  // The thread cannot use more CPU time than there was time.
  let waitMs = cpuMs
  for (;;) {
    const now = Atomics.load(control, 0)
    if (now === state.done) return undefined
    const leftMs = until - performance.now()
    if (leftMs <= 0) return 'no_cpu'
    if (waitMs <= 0) return 'too_long'
    const changed = Atomics.wait(control, 0, now, Math.min(waitMs, leftMs)) !== 'timed-out'
    if (changed) continue
    const usedMs = now === state.running ? cpuMsOf(exchange.threadId()) - exchange.cpuAtBegin() : 0
    waitMs = Number.isNaN(usedMs) ? 0 : cpuMs - usedMs
  }
}

const late = (why: LateReason) => ({ fault: 'late', why }) as const
const failed = (why: string) => ({ fault: 'failed', why }) as const

// Messages of the module itself.
const outOfMemory = /malloc|memory|grow/i

// The thread goes on: only the instance is dropped.
function outcomeOf(answer: ModuleAnswer, usedMs: number): ModuleOutcome {
  if ('findings' in answer) return { ...answer, usedMs }
  return outOfMemory.test(answer.failed) ? late('memory') : failed(answer.failed)
}
