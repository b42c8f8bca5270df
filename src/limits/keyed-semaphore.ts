import { unavailable } from '../errors.ts'

/**
 * Limits concurrent work per key. Throws 503 `overloaded` when too many wait for the same key, or one waits too long.
 */
export type KeyedSemaphore = <T>(key: string, work: (outside: Outside) => Promise<T>) => Promise<T>

/** Does a part of the work that does not count: others of the key run meanwhile. It then waits again to go on. */
export type Outside = <T>(part: () => Promise<T>) => Promise<T>

export interface SemaphoreBounds {
  /** Pieces of work per key that can run at a time in this process. */
  maxConcurrent: number
  /** The same for a key that has work waiting, while other keys had work within the last second; `maxConcurrent` if unset. */
  maxBesideOthers?: number
  /** Pieces of work per key that can wait. */
  maxWaiting: number
  /** The longest wait, in ms. */
  maxWaitMs: number
  /** True for an error that all waiting work of the key would meet: it then fails at once with the same error. */
  failsAll?: (error: unknown) => boolean
  /** True for an error that explains why work waits: work that waits too long after it fails with the same error. */
  explainsWait?: (error: unknown) => boolean
}

interface Queue {
  running: number
  waiting: Set<(error?: unknown) => void>
  /** The last error that explains why work waits; undefined since work succeeded. */
  cause: unknown
}

const othersCountMs = 1_000

/**
 * Makes a semaphore. Work waits in order, and only for work of its own key. A key with more work than it can run at a time
 * runs less of it while others have work, because all share one event loop.
 */
export function createKeyedSemaphore(
  {
    maxConcurrent,
    maxBesideOthers = maxConcurrent,
    maxWaiting,
    maxWaitMs,
    failsAll = () => false,
    explainsWait = () => false,
  }: SemaphoreBounds,
  now: () => number = () => performance.now(),
): KeyedSemaphore {
  const queues = new Map<string, Queue>()
  const others = recentKeys(now)

  const enter = async (queue: Queue) => {
    if (queue.running < maxConcurrent && queue.waiting.size === 0) {
      queue.running++
      return
    }
    if (queue.waiting.size >= maxWaiting) throw overloaded()
    await new Promise<void>((resolve, reject) => {
      const end = (error?: unknown) => {
        clearTimeout(timer)
        queue.waiting.delete(end)
        if (error === undefined) resolve()
        else reject(error)
      }
      const timer = setTimeout(() => end(queue.cause ?? overloaded()), maxWaitMs)
      queue.waiting.add(end)
    })
  }
  const leave = (key: string, queue: Queue) => {
    queue.running--
    const max = others.withinMs(key, othersCountMs) ? maxBesideOthers : maxConcurrent
    for (const next of queue.waiting) {
      if (queue.running >= max) break
      queue.running++
      next()
    }
    if (queue.running === 0) queues.delete(key)
  }

  const enterKey = async (key: string): Promise<Queue> => {
    others.seen(key)
    const queue = queues.get(key) ?? { running: 0, waiting: new Set(), cause: undefined }
    queues.set(key, queue)
    await enter(queue)
    return queue
  }

  return async (key, work) => {
    // Null while a part of the work is outside.
    let queue: Queue | null = await enterKey(key)
    const outside: Outside = async (part) => {
      if (!queue) return part()
      leave(key, queue)
      queue = null
      try {
        return await part()
      } finally {
        queue = await enterKey(key)
      }
    }
    try {
      const result = await work(outside)
      if (queue) queue.cause = undefined
      return result
    } catch (error) {
      if (queue && explainsWait(error)) queue.cause = error
      if (queue && failsAll(error)) for (const end of queue.waiting) end(error)
      throw error
    } finally {
      if (queue) leave(key, queue)
    }
  }
}

/** Remembers when the last two different keys were seen: enough to know of each key when another one was. */
function recentKeys(now: () => number) {
  let last = { key: '', at: Number.NEGATIVE_INFINITY }
  let before = last
  return {
    seen(key: string): void {
      if (key !== last.key) before = last
      last = { key, at: now() }
    },
    /** Whether a key other than this one was seen within so many ms. */
    withinMs: (key: string, ms: number): boolean => now() - (last.key === key ? before : last).at < ms,
  }
}

const overloaded = () => unavailable('overloaded', 'Too many requests at once. Try again in a moment.', 1)
