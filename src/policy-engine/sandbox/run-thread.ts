import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ResourceLimits, Worker } from 'node:worker_threads'

/**
 * Runs a module in a new thread with `data` and gives the one message that it posts. Rejects with the error that the
 * module throws, or with `late()` after `maxMs`. The thread is terminated in every case.
 */
export function runThread<T>(module: URL, data: unknown, maxMs: number, late: () => Error): Promise<T> {
  const thread = startThread(module, data)
  return answerOf<T>(thread, maxMs, late).finally(() => void thread.terminate())
}

/**
 * Sends messages to a thread, each in a turn of the event loop, and gives the one answer to the last of them. Rejects as
 * `runThread` does.
 */
export type AskThread = <T>(messages: readonly object[], maxMs: number, late: () => Error) => Promise<T>

/**
 * Runs a module in a thread that answers one query after the other, because starting it costs more than an answer. The
 * thread starts at the first query, and again after an error or a late answer. It ends after `idleMs` without a query.
 * Ask for one answer at a time.
 */
export function reusedThread(
  module: URL,
  data: unknown,
  idleMs: number,
  resourceLimits: ResourceLimits = {},
): AskThread {
  let resting: { thread: Worker; timer: NodeJS.Timeout } | undefined
  const end = (thread: Worker): void => {
    if (resting?.thread === thread) resting = undefined
    void thread.terminate()
  }
  const start = (): Worker => {
    const thread = startThread(module, data, resourceLimits)
    return thread.once('exit', () => end(thread))
  }
  const take = (): Worker => {
    const thread = resting?.thread
    if (!thread) return start()
    clearTimeout(resting?.timer)
    resting = undefined
    thread.ref()
    return thread
  }
  const rest = (thread: Worker): void => {
    thread.unref()
    resting = { thread, timer: setTimeout(() => end(thread), idleMs).unref() }
  }
  return async <T>(messages: readonly object[], maxMs: number, late: () => Error): Promise<T> => {
    const thread = take()
    try {
      const answering = answerOf<T>(thread, maxMs, late)
      const [answer] = await Promise.all([answering, postInTurns(thread, messages)])
      rest(thread)
      return answer
    } catch (error) {
      void thread.terminate()
      throw error
    }
  }
}

/** Copying a message takes the event loop's time. */
async function postInTurns(thread: Worker, messages: readonly object[]): Promise<void> {
  for (const [index, message] of messages.entries()) {
    if (index > 0) await nextTurn()
    thread.postMessage(message)
  }
}

// Without an empty execArgv the thread would load the modules that the process was started with (--import).
const startThread = (module: URL, workerData: unknown, resourceLimits: ResourceLimits = {}): Worker =>
  new Worker(module, { workerData, execArgv: [], resourceLimits })
    // `answerOf` reports it. An idle thread must not end the process.
    .on('error', () => undefined)

function answerOf<T>(thread: Worker, maxMs: number, late: () => Error): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const answered = (answer: T) => end(() => resolve(answer))
    const failed = (error: Error) => end(() => reject(error))
    const ended = () => failed(new Error('a thread ended without an answer'))
    const timer = setTimeout(() => failed(late()), maxMs)
    const end = (settle: () => void) => {
      clearTimeout(timer)
      thread.off('message', answered).off('error', failed).off('exit', ended)
      settle()
    }
    thread.once('message', answered).once('error', failed).once('exit', ended)
  })
}
