import { Worker } from 'node:worker_threads'
import type { Effect } from '../../platform/access/decision.ts'
import { tooCostly } from '../../platform/decision-budget.ts'
import { createTurnstile } from '../../platform/turnstile.ts'
import type { Replay } from './replay.ts'

// Starting takes half a second, a thousand decisions two seconds at most.
const maxMs = 15_000
const oneAtATime = createTurnstile({ most: 1, waiting: 20, patience: 20_000 })

/**
 * Replays decisions in a thread of their own, so that requests are answered meanwhile; one thread at a time in the
 * process. Throws 503 `too_costly` where it takes too long, `overloaded` where too many wait.
 */
export const replayApart = (replay: Replay): Promise<(Effect | null)[]> =>
  oneAtATime('replay', () => runThread(replay))

function runThread(replay: Replay): Promise<(Effect | null)[]> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./replay-thread.ts', import.meta.url), {
      workerData: replay,
      execArgv: [],
    })
    const timer = setTimeout(() => end(() => reject(tooCostly(30))), maxMs)
    const end = (settle: () => void) => {
      clearTimeout(timer)
      settle()
      void thread.terminate()
    }
    thread.once('message', (effects) => end(() => resolve(effects)))
    thread.once('error', (error) => end(() => reject(error)))
    thread.once('exit', () => end(() => reject(new Error('the thread of a preview ended early'))))
  })
}
