import type { Logger } from 'pino'
import { describeError } from '../src/observe/describe-error.ts'

const quietFor = 5_000

/** Logs outages of a server: one line when it becomes unreachable, one when it is back. */
export interface OutageLog {
  failed(error: unknown): void
  /** Logs only after a failure. */
  recovered(): void
}

/**
 * Logs the first connection error of an outage, and the next one only after 5 s without errors: one line per outage,
 * although every queue reports every attempt.
 */
export function outageLog(log: Logger, what: string): OutageLog {
  let last = Number.NEGATIVE_INFINITY
  let unreachable = false
  return {
    failed(error) {
      const now = performance.now()
      if (now - last > quietFor)
        log.warn({ error: describeError(error) }, `${what} cannot be reached; trying again`)
      last = now
      unreachable = true
    },
    recovered() {
      if (!unreachable) return
      unreachable = false
      last = Number.NEGATIVE_INFINITY
      log.info(`${what} can be reached again`)
    },
  }
}
