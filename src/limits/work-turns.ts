import { unavailable } from '../errors.ts'

interface TurnLimits {
  atATime: number
  ofOne: number
  maxWaiting: number
  maxWaitMs: number
}

type Who = { userId: string; tenantId: string } | null

interface Waiting {
  by: Who
  end(error?: Error): void
}

/** Runs work in turns. Throws 503 `overloaded`, without `waits` also where it is not its turn now. */
export type WorkTurns = <T>(by: Who, work: () => Promise<T>, options?: { waits: boolean }) => Promise<T>

/**
 * Runs `atATime` pieces of work at a time, `ofOne` of them of the same person or tenant. Of those that wait, the next is of
 * the person with the lowest `usedBy`, and of these the first that came: who asks for much waits longer, and no one waits
 * behind all that one other person asked for. Work of the installation (null) comes first.
 */
export function createWorkTurns(limits: TurnLimits, usedBy: (userId: string) => number): WorkTurns {
  const { atATime, ofOne, maxWaiting, maxWaitMs } = limits
  const running: Who[] = []
  const waiting = new Set<Waiting>()
  const canRun = (by: Who) =>
    running.length < atATime &&
    (by === null ||
      (countOf(running, (one) => one?.userId === by.userId) < ofOne &&
        countOf(running, (one) => one?.tenantId === by.tenantId) < ofOne))
  const rank = ({ by }: Waiting) => (by ? usedBy(by.userId) : -1)
  const startNext = () => {
    let next: Waiting | undefined
    for (const one of waiting) if (canRun(one.by) && (!next || rank(one) < rank(next))) next = one
    if (!next) return
    running.push(next.by)
    next.end()
    startNext()
  }
  const wait = (by: Who) =>
    new Promise<void>((resolve, reject) => {
      const end = (error?: Error) => {
        clearTimeout(timer)
        waiting.delete(one)
        if (error) reject(error)
        else resolve()
      }
      const one = { by, end }
      const timer = setTimeout(() => end(overloaded()), maxWaitMs)
      waiting.add(one)
    })
  return async (by, work, { waits } = { waits: true }) => {
    if (canRun(by)) running.push(by)
    else if (!waits || countOf(waiting, (one) => one.by?.userId === by?.userId) >= maxWaiting)
      throw overloaded()
    else await wait(by)
    try {
      return await work()
    } finally {
      running.splice(running.indexOf(by), 1)
      startNext()
    }
  }
}

function countOf<T>(all: Iterable<T>, test: (one: T) => boolean): number {
  let count = 0
  for (const one of all) if (test(one)) count++
  return count
}

const overloaded = () =>
  unavailable('overloaded', 'Too much of this work waits already. Try again in a moment.', 1)
