/**
 * An answer that gives, changes or renews what its client signs in with. What was opened is data of a feature; the
 * credentials of the request give it the form of the client: tokens, or a cookie. `body` is the rest of the answer.
 */
export class WithCredentials<Opened = unknown> {
  readonly opened: Opened
  readonly body: object

  constructor(opened: Opened, body: object = {}) {
    this.opened = opened
    this.body = body
  }
}
