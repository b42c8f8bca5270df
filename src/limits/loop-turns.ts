import { unavailable } from '../errors.ts'

/**
 * Lets callers go on one after the other, in order: one in each turn of the event loop, or one of 32 that wait. So of a
 * burst that arrives at once, a few are handled before the loop looks at other connections again, and the rest is soon
 * handled too. Throws 503 `overloaded` when `maxWaiting` callers wait already.
 */
export function createLoopTurns(maxWaiting = 1_000): () => Promise<void> | undefined {
  const waiting: (() => void)[] = []
  let taken = false
  const endTurn = () => {
    taken = waiting.length > 0
    if (!taken) return
    setImmediate(endTurn)
    for (const goOn of waiting.splice(0, Math.ceil(waiting.length / 32))) goOn()
  }
  return () => {
    if (waiting.length >= maxWaiting)
      throw unavailable('overloaded', 'Too many calls at once. Try again in a moment.', 1)
    if (taken) return new Promise((goOn) => waiting.push(goOn))
    taken = true
    // The immediates of this turn of the loop are still to come: the second one ends the next.
    setImmediate(() => setImmediate(endTurn))
  }
}
