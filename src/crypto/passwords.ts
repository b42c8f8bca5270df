import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism, setPriority } from 'node:os'
import argon2 from 'argon2'
import { unavailable } from '../errors.ts'
import type { Metrics } from '../observe/metrics/metrics.ts'

/** What one argon2id hash costs: memory in KiB, and passes over it. */
export interface HashCost {
  memoryCost: number
  timeCost: number
}

/** OWASP password storage cheat sheet: argon2id, 19 MiB, two passes, one lane. */
const recommended: HashCost = { memoryCost: 19_456, timeCost: 2 }

/** The salt of 16 zero bytes, which no real hash has. */
const noSalt = 'A'.repeat(22)

/** A PHC string that no password has, for an account without a password. Nothing is hashed for it. */
export function unusableHash(): string {
  const { memoryCost, timeCost } = recommended
  const digest = randomBytes(32).toString('base64').replaceAll('=', '')
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=1$${noSalt}$${digest}`
}

/** Whether a PHC string is one of {@link unusableHash}. Those of 0.2 cannot be told from real ones. */
export const isUnusable = (phc: string): boolean => phc.split('$')[4] === noSalt

/** Hashes passwords with bounded memory and CPU. Never call it inside a transaction. */
export interface PasswordHasher {
  /** PHC string of argon2id. Throws 503 `overloaded` when too many hashes wait. */
  hash(password: string): Promise<string>
  /**
   * Takes the time of one hash in every case but that of a hash of another product. For `undefined` (an unknown user) the
   * answer is false.
   */
  verify(phc: string | undefined, password: string): Promise<boolean>
  /**
   * Runs `work`, which will hash or verify at some point, when it is its turn. Throws 503 `overloaded` before it starts
   * `work` when more callers are already expected than the process can serve in about two seconds.
   */
  expecting<T>(work: () => Promise<T>): Promise<T>
  /** True when the hash was made with other parameters, or by another product, and should be replaced. */
  isStale(phc: string): boolean
  /** Hashes that run and wait, and callers that are expected (which includes both) now, and the limit of each. */
  load(): Record<'running' | 'waiting' | 'expected', { now: number; max: number }>
}

/** What one hash costs, and how many can run and wait. Only tests lower the cost; no setting changes it. */
export interface HashLimits {
  cost?: HashCost
  inFlight?: number
  waitingMax?: number
}

/** Called for each hash with its duration in seconds, or when a hash is refused. */
export interface HasherOptions extends HashLimits {
  hashed?: (seconds: number) => void
  refused?: () => void
}

/**
 * Runs as many hashes at a time as there are cores (more would add latency, not throughput), and queues about two
 * seconds of work; beyond that it refuses. A slot is free again when its hash ends, not when its client disconnects.
 * Of the expected callers, four for each core are at work, which keeps the cores busy: started all at once, the queries
 * before their hashes would delay every other request.
 */
export async function createPasswordHasher({
  cost = recommended,
  inFlight = availableParallelism(),
  waitingMax = inFlight * 50,
  hashed = () => undefined,
  refused = () => undefined,
}: HasherOptions = {}): Promise<PasswordHasher> {
  const parameters = { ...cost, type: argon2.argon2id, parallelism: 1 } as const
  const hashes = createTurns(inFlight)
  const callers = createTurns(4 * inFlight)
  // They cost up to 30 times as much as ours, and must not hold up every sign-in.
  const foreign = createTurns(1)
  const expectedMax = inFlight + waitingMax
  const overloaded = () => {
    refused()
    return unavailable('overloaded', 'Too many sign-ins at once. Try again in a moment.', 2)
  }
  const dummyHash = await argon2.hash('no account has this password', parameters)

  const bounded = async <T>(work: () => Promise<T>) => {
    if (hashes.waiting() >= waitingMax) throw overloaded()
    return hashes.take(async () => {
      const begun = performance.now()
      try {
        return await work()
      } finally {
        hashed((performance.now() - begun) / 1_000)
      }
    })
  }

  return {
    hash: (password) => bounded(() => argon2.hash(password, parameters)),
    verify(phc, password) {
      const compare = () =>
        bounded(async () => (await matches(phc ?? dummyHash, password)) && phc !== undefined)
      return phc === undefined || phc.startsWith(ownKind) ? compare() : foreign.take(compare)
    },
    async expecting(work) {
      if (callers.running() + callers.waiting() >= expectedMax) throw overloaded()
      return callers.take(work)
    },
    isStale: (phc) => !phc.startsWith(ownKind) || argon2.needsRehash(phc, parameters),
    load: () => ({
      running: { now: hashes.running(), max: inFlight },
      waiting: { now: hashes.waiting(), max: waitingMax },
      expected: { now: callers.running() + callers.waiting(), max: expectedMax },
    }),
  }
}

const ownKind = '$argon2id$'

/** A hash that another product made stays until its person signs in. */
const matches = async (phc: string, password: string): Promise<boolean> =>
  phc.startsWith(ownKind)
    ? argon2.verify(phc, password)
    : (await import('./foreign-hashes.ts')).verifyForeign(phc, password)

/** Runs at most `max` pieces of work at a time; the others wait in order. */
function createTurns(max: number) {
  const waiting: (() => void)[] = []
  let running = 0
  return {
    running: () => running,
    waiting: () => waiting.length,
    async take<T>(work: () => Promise<T>): Promise<T> {
      if (running < max) running++
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else running--
      }
    },
  }
}

/** Makes a hasher whose hashes, refusals and load are counted in `metrics`. */
export async function createMeasuredHasher(metrics: Metrics, limits?: HashLimits): Promise<PasswordHasher> {
  const { passwordHashed: hashed, passwordRefused: refused } = metrics
  const passwords = await createPasswordHasher({ ...limits, hashed, refused })
  metrics.sample(() =>
    Object.entries(passwords.load()).flatMap(([state, { now, max }]) => [
      { gauge: 'hashes', labels: { state }, value: now },
      { gauge: 'hashesMax', labels: { state }, value: max },
    ]),
  )
  return passwords
}

const lowPriority = 10
const threads = '/proc/self/task'

/**
 * Gives the threads of libuv's pool, which hash passwords, a lower priority than the event loop and Postgres: all cores
 * can hash while other requests are still answered. It needs no privilege and works on Linux only; elsewhere it does
 * nothing. Call it after the pool has started. Returns the number of threads it changed.
 */
export function lowerHashThreadPriority(): number {
  if (process.platform !== 'linux') return 0
  return readdirSync(threads).filter(lowerPriority).length
}

/** Linux has a nice value per thread: setpriority(2), notes. */
function lowerPriority(thread: string): boolean {
  try {
    if (!readFileSync(`${threads}/${thread}/comm`, 'utf8').startsWith('libuv-worker')) return false
    setPriority(Number(thread), lowPriority)
    return true
  } catch {
    return false // the thread has ended
  }
}
