import { isDatabaseUnavailable } from '../src/platform/db/transaction.ts'
import { describeError } from '../src/platform/describe-error.ts'

/** ms to wait before the attempt after this one (from 1), in part by chance. The end of an outage is noticed soon. */
export function pauseBefore(
  backoff: { first: number; longest: number },
  attempt: number,
  error: unknown,
): number {
  if (isDatabaseUnavailable(error)) return 500
  const full = Math.min(backoff.first * 2 ** (attempt - 1), backoff.longest)
  return Math.round(full * (1 - Math.random() / 2))
}

/** What the queue is thrown for a message that is to come again in `ms`. It stores message and stack: both are ours. */
export class Retry extends Error {
  override name = 'Retry'
  readonly ms: number
  constructor(cause: unknown, ms: number) {
    super(describeError(cause))
    this.stack = this.message
    this.ms = ms
  }
}
