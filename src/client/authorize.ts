import type { EvaluationAnswer, EvaluationRequest } from './api-types.ts'
import type { AnyInput } from './operations.ts'

/** A question of the AuthZEN Authorization API: may `subject` do `action` on `resource`? */
export type Question = EvaluationRequest

export interface AuthorizeOptions {
  /** ms until the answer is no; 1,000 if absent. */
  deadlineMs?: number
  /** Types of obligations that you carry out, such as `mask_fields`. With any other obligation the answer is no. */
  obligations?: readonly string[]
  /** Is told why there was no answer, for your log. */
  onFailure?(error: unknown): void
}

/** Whether the service allows it. No answer, one that comes too late, and one of another form mean no. */
export async function isAllowed(
  call: (operation: string, input: AnyInput) => Promise<unknown>,
  question: Question,
  { deadlineMs = 1_000, obligations = [], onFailure }: AuthorizeOptions = {},
): Promise<boolean> {
  const deadline = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      deadline.abort()
      reject(new Error(`No decision came within ${deadlineMs} ms.`))
    }, deadlineMs)
  })
  try {
    // The race also ends a renewal of the token, which the signal does not reach.
    const answering = call('POST /access/evaluation', { body: question, signal: deadline.signal })
    const answer = (await Promise.race([answering, late])) as EvaluationAnswer
    const carriedOut = answer.context.obligations.every(({ type }) => obligations.includes(type))
    return answer.decision === true && carriedOut
  } catch (error) {
    onFailure?.(error)
    return false
  } finally {
    clearTimeout(timer)
  }
}
