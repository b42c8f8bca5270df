import { randomInt } from 'node:crypto'

const second = 1_000
const minute = 60 * second
const steps = [5 * second, 30 * second, 2 * minute, 10 * minute]
const longestAsked = 60 * minute

/** Failures in a row from which on a circuit is open. */
export const openAfter = steps.length + 1

/** The wait after the first failure, and before the next event where one is given up. */
export const firstWait = 5 * second

/**
 * ms to wait after so many failures in a row of a webhook: 5 s, 30 s, 2 min and 10 min, up to a tenth longer, so that
 * not everybody comes back at once. Then its circuit is open: one event is tried every 30 to 60 minutes. What the
 * receiver asks for (ms) is waited at least, up to an hour.
 */
export function waitAfter(failures: number, asked: number | null): number {
  const step = steps[failures - 1]
  const own = step === undefined ? randomInt(30 * minute, 60 * minute) : step + randomInt(step / 10)
  return Math.max(own, Math.min(asked ?? 0, longestAsked))
}

/** ms of failures in a row after which a webhook is disabled. */
export const failingLimit = 5 * 24 * 60 * minute
