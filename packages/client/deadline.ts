import { NoAnswer } from './problem.ts'

/**
 * Runs something that ends when `signal` aborts, and that begins no attempt after `until`. After `ms`, if given, it rejects
 * with {@link NoAnswer}.
 */
export async function inTime<T>(
  ms: number | undefined,
  given: AbortSignal | undefined,
  run: (signal: AbortSignal | undefined, until: number) => Promise<T>,
): Promise<T> {
  if (ms === undefined) return run(given, Number.POSITIVE_INFINITY)
  const deadline = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new NoAnswer(new Error(`No answer came within ${ms} ms.`)))
      deadline.abort()
    }, ms)
  })
  const signal = given ? AbortSignal.any([given, deadline.signal]) : deadline.signal
  try {
    // The race also ends a renewal of the token, which the signal does not reach.
    return await Promise.race([run(signal, performance.now() + ms), late])
  } finally {
    clearTimeout(timer)
  }
}
