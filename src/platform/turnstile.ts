import { unavailable } from './errors.ts'

/** Runs work in turns, by key. Throws 503 `overloaded` where too many wait for the same key, or one waits too long. */
export type Turnstile = <T>(key: string, work: () => Promise<T>) => Promise<T>

export interface TurnstileBounds {
  /** Pieces of work of one key that run at a time in this process. */
  most: number
  /** How many may wait for the same key. */
  waiting: number
  /** ms that one waits at most. */
  patience: number
  /** Errors that would meet all the others, too: whoever waits for the same key is met by it now, not later. */
  common?: (error: unknown) => boolean
}

interface Lane {
  running: number
  waiting: Set<(error?: unknown) => void>
}

/** Makes a turnstile; whoever waits for a key does so in order, and nobody waits for the key of others. */
export function createTurnstile({
  most,
  waiting,
  patience,
  common = () => false,
}: TurnstileBounds): Turnstile {
  const lanes = new Map<string, Lane>()

  const enter = async (lane: Lane) => {
    if (lane.running < most) {
      lane.running++
      return
    }
    if (lane.waiting.size >= waiting) throw overloaded()
    await new Promise<void>((resolve, reject) => {
      const end = (error?: unknown) => {
        clearTimeout(timer)
        lane.waiting.delete(end)
        if (error === undefined) resolve()
        else reject(error)
      }
      const timer = setTimeout(() => end(overloaded()), patience)
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
      if (common(error)) for (const end of lane.waiting) end(error)
      throw error
    } finally {
      leave(key, lane)
    }
  }
}

const overloaded = () => unavailable('overloaded', 'Too many requests at once. Try again in a moment.', 1)
