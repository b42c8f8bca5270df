import { problemTexts } from './problem-texts.ts'

/** What is wrong with a field, by its name in the API; the name is empty where the fault is in no single field. */
interface FieldFault {
  field: string
  detail: string
}

/**
 * A refusal of the service, or the lack of an answer. The message is for people: it says what to do. It is empty where
 * nothing has to be said, because the person gave up, or the page already shows what is wrong.
 */
export class Problem extends Error {
  /** 0 if no answer came. */
  readonly status: number
  readonly code: string
  readonly faults: readonly FieldFault[]
  readonly members: Readonly<Record<string, unknown>>
  /** Seconds after which a repetition can succeed. */
  readonly retryAfter: number | null

  constructor(status: number, body: Record<string, unknown>, retryAfter: number | null = null) {
    const code = typeof body.code === 'string' ? body.code : 'no_answer'
    const again = retryAfter === null ? null : new Date(Date.now() + retryAfter * 1_000)
    super(problemTexts[code]?.(again) ?? (typeof body.detail === 'string' ? body.detail : noAnswer))
    this.status = status
    this.code = code
    this.faults = Array.isArray(body.errors) ? body.errors : []
    this.members = body
    this.retryAfter = retryAfter
  }

  /** A repetition gets the same answer. */
  get isLasting(): boolean {
    return this.status >= 400 && this.status < 500 && this.status !== 429
  }
}

const noAnswer = 'The service did not answer. Check your connection, then try again.'

export const asProblem = (error: unknown): Problem =>
  error instanceof Problem
    ? error
    : new Problem(0, {
        detail:
          error instanceof TypeError ? noAnswer : 'The console failed. Reload the page, then try again.',
      })
