import { isProblem, NoAnswer, Problem } from '@bailiwick/client'
import { problemTexts } from './problem-texts.ts'

/** A fault of one field of a form, for a call that is not made because of it. */
export const faultOf = (field: string, detail: string) =>
  new Problem(400, { detail, errors: [{ field, detail }] })

/**
 * What went wrong, for people: the message says what to do. It is empty where nothing has to be said, because the person
 * gave up, or the page already shows what is wrong. The status is 0 if there is no answer.
 */
export function asProblem(error: unknown): Problem {
  if (!isProblem(error)) return new Problem(0, { detail: error instanceof NoAnswer ? noAnswer : failed })
  const { status, members, retryAfter, code } = error
  const again = retryAfter === null ? null : new Date(Date.now() + retryAfter * 1_000)
  const detail = problemTexts[code]?.(again) ?? members.detail
  if (detail === error.message) return error
  // Without a detail the answer is that of a proxy.
  return new Problem(status, { ...members, detail: detail ?? noAnswer }, retryAfter)
}

/** Whether a repetition gets the same answer. */
export const isLasting = ({ status }: Problem): boolean => status >= 400 && status < 500 && status !== 429

const noAnswer = 'The service did not answer. Check your connection, then try again.'
const failed = 'The console failed. Reload the page, then try again.'
