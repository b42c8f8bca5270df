import { Worker } from 'node:worker_threads'

/**
 * Runs a module in a new thread with `data` and gives the one message that it posts. Rejects with the error that the
 * module throws, or with `late()` after `maxMs`. The thread is terminated in every case.
 */
export function runThread<T>(module: URL, data: unknown, maxMs: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    // Without an empty execArgv the thread would load the modules that the process was started with (--import).
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
