import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'

const maxEnds = 2
const windowMs = 1_000
const name = 'bailiwick: ends of module threads'

/** Limits the threads that end: `endedAt` has the times of the last ones, oldest first. */
export const endLimiter = (
  endedAt: Float64Array,
  now: () => number = () => performance.timeOrigin + performance.now(),
) => ({
  /** Counts an end and gives 0, or gives the ms until one is possible. */
  take(): number {
    const waitMs = endedAt[0]! + windowMs - now()
    if (waitMs > 0) return waitMs
    endedAt.copyWithin(0, 1)
    endedAt[endedAt.length - 1] = now()
    return 0
  },
})

// A thread that has a pool of its own (previews) inherits the memory, because a process has one limit.
const memory =
  (getEnvironmentData(name) as SharedArrayBuffer | undefined) ?? new SharedArrayBuffer(8 * maxEnds)
setEnvironmentData(name, memory)

/** A process ends at most two threads in a second: each end leads to a start, which costs 0.1 s of CPU time. */
export const endsOfProcess = endLimiter(new Float64Array(memory))
