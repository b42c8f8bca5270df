/** One fault of the input. */
export interface FieldFault {
  field: string
  code: string
  detail: string
}

/** A refusal of the service (RFC 9457). `code` is for programs, the message for people. */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly errors: readonly FieldFault[]
  /** All members of the document, such as `decision_id`, `reasons` or `approval_request`. */
  readonly members: Readonly<Record<string, unknown>>
  /** Seconds after which a repetition can succeed; null when the service names none. */
  readonly retryAfter: number | null

  constructor(status: number, members: Record<string, unknown>, retryAfter: number | null = null) {
    super(typeof members.detail === 'string' ? members.detail : `The service answered ${status}.`)
    this.name = 'Problem'
    this.status = status
    this.code = typeof members.code === 'string' ? members.code : 'unknown'
    this.errors = Array.isArray(members.errors) ? members.errors : []
    this.members = members
    this.retryAfter = retryAfter
  }
}

/** No answer that can be read came in time. Whether the call had an effect is unknown. */
export class NoAnswer extends Error {
  constructor(cause: unknown) {
    super('Bailiwick did not answer.', { cause })
    this.name = 'NoAnswer'
  }
}

/** Whether an error is a refusal, with one of these codes if any are given: `isProblem(error, 'slug_taken')`. */
export const isProblem = (error: unknown, ...codes: string[]): error is Problem =>
  error instanceof Problem && (codes.length === 0 || codes.includes(error.code))
