import { randomInt } from 'node:crypto'

const second = 1_000
const minute = 60 * second
const steps = [5 * second, 30 * second, 2 * minute, 10 * minute]
const maxRequestedWait = 60 * minute

/** The number of failures in a row that opens the circuit of a webhook. */
export const openAfter = steps.length + 1

/** ms to wait before the next event after one was given up. */
export const firstWait = 5 * second

/**
 * ms to wait after this many failures in a row of a webhook: 5 s, 30 s, 2 min and 10 min, plus up to a tenth, so that
 * retries spread out. Then the circuit is open: one event is tried every 30 to 60 minutes. The wait is at least what
 * the receiver requests (ms), up to an hour.
 */
export function waitAfter(failures: number, requested: number | null): number {
  const step = steps[failures - 1]
  const own = step === undefined ? randomInt(30 * minute, 60 * minute) : step + randomInt(step / 10)
  return Math.max(own, Math.min(requested ?? 0, maxRequestedWait))
}

/** ms of uninterrupted failures after which a webhook is disabled. */
export const failingLimit = 5 * 24 * 60 * minute
