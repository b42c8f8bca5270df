import { tooCostly } from '../../platform/decision-budget.ts'
import { createKeyedSemaphore } from '../../platform/keyed-semaphore.ts'
import { runThread } from '../../platform/run-thread.ts'
import type { Effect } from '../../policy-engine/evaluate/decision.ts'
import type { Replay } from './replay.ts'

// Starting takes half a second, a thousand decisions two seconds at most.
const maxMs = 15_000
const oneAtATime = createKeyedSemaphore({ maxConcurrent: 1, maxWaiting: 20, maxWaitMs: 20_000 })
const thread = new URL('./replay-thread.ts', import.meta.url)

/**
 * Replays decisions in a thread of their own, so that requests are answered meanwhile; one thread at a time in the
 * process. Throws 503 `too_costly` where it takes too long, `overloaded` where too many wait.
 */
export const replayInThread = (replay: Replay): Promise<(Effect | null)[]> =>
  oneAtATime('replay', () => runThread(thread, replay, maxMs, () => tooCostly(30)))
