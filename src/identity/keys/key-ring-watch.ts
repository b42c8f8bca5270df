import type { Logger } from 'pino'
import type { KeyRing } from '../../platform/crypto/token-signer.ts'

const readAgainMs = 60_000
const soonestMs = 5_000

/** The keys in force, followed while they rotate. */
export interface WatchedKeyRing {
  now(): KeyRing
  /**
   * Reads the keys again because a token names one that is unknown, at most every 5 s however many do; otherwise
   * gives at once. Never rejects.
   */
  lookAgain(): Promise<void>
  close(): void
}

/** Reads the keys with `load`, and again every 60 s. Rejects where the first reading does. */
export async function watchKeyRing(load: () => Promise<KeyRing>, log: Logger): Promise<WatchedKeyRing> {
  let ring = await load()
  let lookedAt = Number.NEGATIVE_INFINITY
  let looking: Promise<void> | undefined
  const look = () => {
    looking ??= load()
      .then(
        (fresh) => {
          ring = fresh
        },
        (error) => log.warn({ err: error }, 'signing keys could not be read again'),
      )
      .finally(() => {
        looking = undefined
      })
    return looking
  }
  const timer = setInterval(look, readAgainMs).unref()
  return {
    now: () => ring,
    async lookAgain() {
      if (looking) return looking
      // By a clock that nobody sets: a jump of the wall's would let every forged token through to the database.
      if (performance.now() - lookedAt < soonestMs) return
      lookedAt = performance.now()
      await look()
    },
    close: () => clearInterval(timer),
  }
}
