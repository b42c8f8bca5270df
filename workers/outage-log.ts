import type { Logger } from 'pino'
import { describeError } from '../src/platform/describe-error.ts'

const quietFor = 5_000

/**
 * Logs the first of a series of connection errors and keeps quiet until there was none for 5 s: one outage, one
 * line, though every queue reports it at every attempt.
 */
export function outageLog(log: Logger, what: string): (error: unknown) => void {
  let last = Number.NEGATIVE_INFINITY
  return (error) => {
    const now = performance.now()
    if (now - last > quietFor)
      log.warn({ error: describeError(error) }, `${what} cannot be reached; trying again`)
    last = now
  }
}
