import { DelayedError } from '../src/messages/queues/delayed-error.ts'

/** The slots of an actor in this process: how many messages it handles at a time, and how many of one key at most. */
export interface Slots {
  total: number
  perKey: number
  /** ms of the first delay; each message that waits adds as much. */
  step?: number
}

/** What a message counts for: a key, or the part that one key takes of the slots of another, which is named as well. */
export type Key = string | { part: string; of: string }

interface KeyUse {
  running: number
  /** ms of slots that it used, of which each minute leaves 37 %; as of `at`. */
  used: number
  at: number
  /** Messages that were delayed, longest ago first, with the time of their last delay. */
  delayed: Map<string, number>
}

const minute = 60_000
const maxDelay = 60_000
const negligible = 100

/** The keys of a message to a receiver: its tenant, its host, and the part of the tenant in the host, which others share. */
export const atReceiver = (tenantId: string, host: string): Key[] => [
  { part: tenantId, of: host },
  tenantId,
  host,
]

/**
 * Shares the slots among keys, such as a tenant and a receiver, by the time that each used. A key that has, or had in the
 * last minute, a quarter of `perKey` slots on average gets another one only while half of all slots are free, one that
 * has more only while more are free. So keys whose work takes long leave room for the others. The part of a key shares the
 * slots of that key in the same way: one alone gets half of them.
 *
 * A message that may not begin is delayed: throws {@link DelayedError}; the more of them wait, the longer the delay. One
 * that does not come back was handled by another process, and counts for two minutes. `clock` is in ms.
 */
export function fairSlots({ total, perKey, step = 250 }: Slots, clock = () => performance.now()) {
  const uses = new Map<string, KeyUse>()
  let running = 0
  let sweptAt = clock()

  const useOf = (key: string, now: number): KeyUse => {
    const use = uses.get(key) ?? { running: 0, used: 0, at: now, delayed: new Map() }
    uses.set(key, use)
    use.used *= Math.exp((use.at - now) / minute)
    use.at = now
    return use
  }
  const mayBegin = (key: Key, now: number) => {
    const use = useOf(nameOf(key), now)
    const slots = Math.max(use.running, use.used / minute)
    if (typeof key !== 'string') return useOf(key.of, now).running < perKey / (1 + slots / (perKey / 2))
    return use.running < perKey && running < total / (1 + slots / (perKey / 4))
  }
  const sweep = (now: number) => {
    if (now - sweptAt < minute) return
    sweptAt = now
    for (const key of uses.keys()) {
      const { running, used, delayed } = useOf(key, now)
      forgetBefore(delayed, now - 2 * maxDelay)
      if (running === 0 && used < negligible && delayed.size === 0) uses.delete(key)
    }
  }

  return async <T>(id: string, keys: readonly Key[], work: () => Promise<T>): Promise<T> => {
    const begun = clock()
    sweep(begun)
    const mine = keys.map((key) => useOf(nameOf(key), begun))
    for (const { delayed } of mine) delayed.delete(id)
    const full = keys.findIndex((key) => !mayBegin(key, begun))
    if (full >= 0) throw new DelayedError(delayIn(mine[full]!, step, id, begun))
    running++
    for (const use of mine) use.running++
    try {
      return await work()
    } finally {
      running--
      const ended = clock()
      for (const key of keys) {
        const use = useOf(nameOf(key), ended)
        use.running--
        use.used += ended - begun
      }
    }
  }
}

const nameOf = (key: Key) => (typeof key === 'string' ? key : `${key.part} ${key.of}`)

function delayIn({ delayed }: KeyUse, step: number, id: string, now: number): number {
  forgetBefore(delayed, now - 2 * maxDelay)
  delayed.set(id, now)
  return Math.min(step * delayed.size, maxDelay)
}

function forgetBefore(delayed: Map<string, number>, before: number): void {
  for (const [id, at] of delayed)
    if (at < before) delayed.delete(id)
    else return
}
