import { Worker } from 'node:worker_threads'

/**
 * Runs a module in a thread of its own with `data` and gives the one message that it posts. Rejects with what it
 * throws, and with `late()` after `maxMs`; the thread is over in either case.
 */
export function runThread<T>(module: URL, data: unknown, maxMs: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    // The thread loads nothing but the module, whatever the process was started with.
    const thread = new Worker(module, { workerData: data, execArgv: [] })
    const timer = setTimeout(() => end(() => reject(late())), maxMs)
    const end = (settle: () => void) => {
      clearTimeout(timer)
      settle()
      void thread.terminate()
    }
    thread.once('message', (answer: T) => end(() => resolve(answer)))
    thread.once('error', (error) => end(() => reject(error)))
    thread.once('exit', () => end(() => reject(new Error('a thread ended without an answer'))))
  })
}
