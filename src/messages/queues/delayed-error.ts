/**
 * Thrown by a handler whose message has to wait `ms`. It is not a failure: nothing is logged, no attempt is counted.
 */
export class DelayedError extends Error {
  override name = 'DelayedError'
  readonly ms: number
  constructor(ms: number) {
    super('DelayedError')
    this.ms = Math.ceil(ms)
  }
}
