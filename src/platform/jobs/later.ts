/**
 * Thrown over a message that is not to be handled before `ms` have passed: no failure, so nothing is logged or counted,
 * and it comes again as often as it takes.
 */
export class Later extends Error {
  override name = 'Later'
  readonly ms: number
  constructor(ms: number) {
    super('Later')
    this.ms = Math.ceil(ms)
  }
}
