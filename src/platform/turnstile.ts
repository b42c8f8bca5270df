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
}

interface Lane {
  running: number
  waiting: Set<() => void>
}

/** Makes a turnstile; whoever waits for a key does so in order, and nobody waits for the key of others. */
export function createTurnstile({ most, waiting, patience }: TurnstileBounds): Turnstile {
  const lanes = new Map<string, Lane>()

  const enter = async (lane: Lane) => {
    if (lane.running < most) {
      lane.running++
      return
    }
    if (lane.waiting.size >= waiting) throw overloaded()
    await new Promise<void>((resolve, reject) => {
      const go = () => {
        clearTimeout(timer)
        lane.waiting.delete(go)
        resolve()
      }
      const timer = setTimeout(() => {
        lane.waiting.delete(go)
        reject(overloaded())
      }, patience)
      lane.waiting.add(go)
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
    } finally {
      leave(key, lane)
    }
  }
}

const overloaded = () => unavailable('overloaded', 'Too many requests at once. Try again in a moment.', 1)
