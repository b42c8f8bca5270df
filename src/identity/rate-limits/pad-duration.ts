import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'

/** A timer can be late by this (ms), even if the process has nothing else to do. */
const timerErrorMs = 2

/**
 * Settles like `work`, but `ms` after the call, never earlier, or a multiple of it if the work took longer, so that the
 * duration does not show what was done, for example that an address has no account. It uses real time, which is what an
 * attacker measures.
 */
export async function padDuration<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const begun = performance.now()
  const outcome = await work().then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  const spent = performance.now() - begun
  await waitUntil(begun + Math.ceil(spent / ms) * ms)
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

/**
 * Waits for a moment of `performance.now()`. A timer counts whole milliseconds, so it alone ends as much as a millisecond
 * early or late, depending on how long the work took: over many answers, that tells known addresses from unknown ones.
 */
async function waitUntil(moment: number): Promise<void> {
  const left = moment - performance.now()
  if (left > timerErrorMs) await sleep(left - timerErrorMs)
  while (performance.now() < moment) await turn()
}
