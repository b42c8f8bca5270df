import { unavailable } from './errors.ts'

/**
 * Limits concurrent work per key. Throws 503 `overloaded` when too many wait for the same key, or one waits too long.
 */
export type KeyedSemaphore = <T>(key: string, work: () => Promise<T>) => Promise<T>

export interface SemaphoreBounds {
  /** Pieces of work per key that can run at a time in this process. */
  maxConcurrent: number
  /** Pieces of work per key that can wait. */
  maxWaiting: number
  /** The longest wait, in ms. */
  maxWaitMs: number
  /** True for an error that all waiting work of the key would meet: it then fails at once with the same error. */
  failsAll?: (error: unknown) => boolean
}

interface Lane {
  running: number
  waiting: Set<(error?: unknown) => void>
}

/** Makes a semaphore. Work waits in order, and only for work of its own key. */
export function createKeyedSemaphore({
  maxConcurrent,
  maxWaiting,
  maxWaitMs,
  failsAll = () => false,
}: SemaphoreBounds): KeyedSemaphore {
  const lanes = new Map<string, Lane>()

  const enter = async (lane: Lane) => {
    if (lane.running < maxConcurrent) {
      lane.running++
      return
    }
    if (lane.waiting.size >= maxWaiting) throw overloaded()
    await new Promise<void>((resolve, reject) => {
      const end = (error?: unknown) => {
        clearTimeout(timer)
        lane.waiting.delete(end)
        if (error === undefined) resolve()
        else reject(error)
      }
      const timer = setTimeout(() => end(overloaded()), maxWaitMs)
      lane.waiting.add(end)
    })
  }
  const leave = (key: string, lane: Lane) => {
    const [next] = lane.waiting
    if (next) next()
    else if (--lane.running === 0) lanes.delete(key)
  }

  return async (key, work) => {
    const lane = lanes.get(key) ?? { running: 0, waiting: new Set() }
    lanes.set(key, lane)
    await enter(lane)
    try {
      return await work()
    } catch (error) {
      if (failsAll(error)) for (const end of lane.waiting) end(error)
      throw error
    } finally {
      leave(key, lane)
    }
  }
}

const overloaded = () => unavailable('overloaded', 'Too many requests at once. Try again in a moment.', 1)
