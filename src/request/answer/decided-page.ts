/** A page whose rows are decided already. */
export class DecidedPage<T> {
  readonly body: T
  constructor(body: T) {
    this.body = body
  }
}
