import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Settles as `work` does, but `ms` after the call (or a multiple of it, where the work took longer), so that what
 * was done, or left undone because nobody has the address, does not show in the time. The time is the wall's: it is
 * what an onlooker measures.
 */
export async function padDuration<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const begun = performance.now()
  const outcome = await work().then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  const spent = performance.now() - begun
  await sleep(Math.ceil(spent / ms) * ms - spent)
  if ('error' in outcome) throw outcome.error
  return outcome.value
}
