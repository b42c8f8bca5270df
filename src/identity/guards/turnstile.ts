import { unavailable } from '../../platform/errors.ts'

/**
 * Lets `most` pieces of work of one key run at a time in this process; the others wait their turn, in order. Throws
 * 503 `overloaded` where `waitingMost` wait for the same key.
 */
export function createTurnstile(most: number, waitingMost: number) {
  const lanes = new Map<string, { running: number; waiting: (() => void)[] }>()

  const enter = async (key: string) => {
    const lane = lanes.get(key) ?? { running: 0, waiting: [] }
    lanes.set(key, lane)
    if (lane.running < most) {
      lane.running++
      return
    }
    if (lane.waiting.length >= waitingMost)
      throw unavailable('overloaded', 'Too many sign-ins at once. Try again in a moment.', 2)
    await new Promise<void>((resolve) => lane.waiting.push(resolve))
  }
  const leave = (key: string) => {
    const lane = lanes.get(key)!
    const next = lane.waiting.shift()
    if (next) next()
    else if (--lane.running === 0) lanes.delete(key)
  }

  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    await enter(key)
    try {
      return await work()
    } finally {
      leave(key)
    }
  }
}
