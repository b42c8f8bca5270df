import { getPriority, setPriority } from 'node:os'

const lowest = 10

/**
 * Gives this thread a lower priority than the event loop and Postgres, so that it computes when they do not. It needs no
 * privilege. Linux has a priority per thread (setpriority(2), notes); elsewhere this does nothing. A process that was
 * started with a lower one keeps it.
 */
export function lowerThreadPriority(): void {
  if (process.platform === 'linux' && getPriority() < lowest) setPriority(lowest)
}
