import { availableParallelism } from 'node:os'
import argon2 from 'argon2'
import { unavailable } from '../errors.ts'

/** What one argon2id hash costs: memory in KiB, and passes over it. */
export interface HashCost {
  memoryCost: number
  timeCost: number
}

/** OWASP password storage cheat sheet: argon2id, 19 MiB, two passes, one lane. */
const recommended: HashCost = { memoryCost: 19_456, timeCost: 2 }

/** Hashes passwords with bounded memory and CPU; never call it inside a transaction. */
export interface PasswordHasher {
  /** PHC string of argon2id. Throws 503 `overloaded` when too many hashes wait. */
  hash(password: string): Promise<string>
  /** Compares in the time of one hash, also for `undefined` (an unknown user): then the answer is false. */
  verify(phc: string | undefined, password: string): Promise<boolean>
  /**
   * Runs `work`, which will hash or verify at some point; throws 503 `overloaded` at once, before anything else is
   * spent on it, where as many are at it as can be served in about two seconds.
   */
  expecting<T>(work: () => Promise<T>): Promise<T>
  /** Whether this was hashed with other parameters and should be hashed again. */
  isStale(phc: string): boolean
  /** Hashes running, waiting and expected (both included) now, and the most there may be of each. */
  load(): Record<'running' | 'waiting' | 'expected', { now: number; most: number }>
}

/** What one hash costs, and how many may run and wait. The cost is lower in tests only; no setting reaches it. */
export interface HashLimits {
  cost?: HashCost
  inFlight?: number
  waitingMax?: number
}

/** Told of each hash: its seconds, or that it was refused. */
export interface HasherOptions extends HashLimits {
  hashed?: (seconds: number) => void
  refused?: () => void
}

/**
 * As many hashes in flight as cores (more add latency, not rate), and about two seconds of work waiting; beyond
 * that callers are told to come back. A permit is free when its hash ends, not when its client leaves.
 */
export async function createPasswordHasher({
  cost = recommended,
  inFlight = availableParallelism(),
  waitingMax = inFlight * 50,
  hashed = () => undefined,
  refused = () => undefined,
}: HasherOptions = {}): Promise<PasswordHasher> {
  const parameters = { ...cost, type: argon2.argon2id, parallelism: 1 } as const
  const waiting: (() => void)[] = []
  let running = 0
  let expected = 0
  const overloaded = () => {
    refused()
    return unavailable('overloaded', 'Too many sign-ins at once. Try again in a moment.', 2)
  }
  const nobody = await argon2.hash('nobody has this password', parameters)

  const admit = async () => {
    if (running < inFlight) {
      running++
      return
    }
    if (waiting.length >= waitingMax) throw overloaded()
    await new Promise<void>((resolve) => waiting.push(resolve))
  }
  const leave = () => {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
  const bounded = async <T>(work: () => Promise<T>) => {
    await admit()
    const begun = performance.now()
    try {
      return await work()
    } finally {
      hashed((performance.now() - begun) / 1_000)
      leave()
    }
  }

  return {
    hash: (password) => bounded(() => argon2.hash(password, parameters)),
    verify: (phc, password) =>
      bounded(async () => (await argon2.verify(phc ?? nobody, password)) && phc !== undefined),
    async expecting(work) {
      if (expected >= inFlight + waitingMax) throw overloaded()
      expected++
      try {
        return await work()
      } finally {
        expected--
      }
    },
    isStale: (phc) => argon2.needsRehash(phc, parameters),
    load: () => ({
      running: { now: running, most: inFlight },
      waiting: { now: waiting.length, most: waitingMax },
      expected: { now: expected, most: inFlight + waitingMax },
    }),
  }
}
