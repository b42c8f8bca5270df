import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Settles like `work`, but `ms` after the call, or a multiple of it if the work took longer, so that the duration does
 * not show what was done, for example that an address has no account. It uses real time, which is what an attacker
 * measures.
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
