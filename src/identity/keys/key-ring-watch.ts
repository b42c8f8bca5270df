import type { Logger } from 'pino'
import type { KeyRing } from '../../crypto/token-signer.ts'

const readAgainMs = 60_000
const minIntervalMs = 5_000

/** The current keys. */
export interface SigningKeys {
  now(): KeyRing
  /** Reads the keys at once, because one was made. */
  readAgain(): Promise<void>
}

/** The current keys, kept up to date while they rotate. */
interface WatchedKeyRing extends SigningKeys {
  /**
   * Reads the keys again, because a token names an unknown key. Reads at most every 5 s, however many tokens ask, and
   * otherwise returns at once. Never rejects.
   */
  lookAgain(): Promise<void>
  close(): void
}

/** Reads the keys with `load`, and again every 60 s. Rejects if the first read fails. */
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
    readAgain: look,
    async lookAgain() {
      if (looking) return looking
      // A monotonic clock: if the wall clock jumped, every forged token could cause a read of the database.
      if (performance.now() - lookedAt < minIntervalMs) return
      lookedAt = performance.now()
      await look()
    },
    close: () => clearInterval(timer),
  }
}
