import { isProblem, NoAnswer } from './problem.ts'

const maxTries = 3
const maxWaitMs = 5_000

/** Errors after which a call that can be repeated is repeated: it may have had its effect, or none. */
const isPassing = (error: unknown): boolean =>
  error instanceof NoAnswer ||
  isProblem(error, 'idempotency_key_in_flight') ||
  (isProblem(error) && [429, 502, 503, 504].includes(error.status))

/**
 * Repeats an attempt up to three times, with growing random pauses, or after the time that the service names if it is
 * short. Only for a call whose repetition has no second effect. `attempt` gets the number of attempts before it. No
 * attempt begins after `until`, by `performance.now()`.
 */
export async function withRetries<T>(
  attempt: (earlier: number) => Promise<T>,
  signal: AbortSignal | undefined,
  until = Number.POSITIVE_INFINITY,
): Promise<T> {
  for (let earlier = 0; ; earlier++) {
    try {
      return await attempt(earlier)
    } catch (error) {
      const asked = isProblem(error) && error.retryAfter !== null ? error.retryAfter * 1000 : null
      const wait = asked ?? (0.5 + Math.random()) * 200 * 2 ** earlier
      const isLate = wait > maxWaitMs || performance.now() + wait >= until
      if (!isPassing(error) || earlier + 1 === maxTries || isLate) throw error
      await pause(wait, signal)
    }
  }
}

/** Waits. Rejects when the signal aborts. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
