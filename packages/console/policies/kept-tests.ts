import { inputOf, type Question, questionOf, type TestInput } from '../playground/question.ts'
import { testsPrefix } from '../session/storage.ts'
import type { Effect } from './document.ts'

/** A question with the answer that its author expects. */
export interface KeptTest {
  key: string
  name: string
  question: Question
  expect: Effect
}

/** Whose tests, of which policy: other people at this browser do not see them. */
export interface Owner {
  user: string
  tenant: string
  policy: string
}

const maxTests = 100
const effects = ['allow', 'deny', 'require_approval']
const keyOf = ({ user, tenant, policy }: Owner) => `${testsPrefix}${user} ${tenant} ${policy}`

export function readTests(owner: Owner): KeptTest[] {
  try {
    return JSON.parse(localStorage.getItem(keyOf(owner)) ?? '[]')
  } catch {
    return []
  }
}

export function writeTests(owner: Owner, tests: readonly KeptTest[]): void {
  if (tests.length === 0) localStorage.removeItem(keyOf(owner))
  else localStorage.setItem(keyOf(owner), JSON.stringify(tests.slice(-maxTests)))
}

export const newTest = (test: Omit<KeptTest, 'key' | 'name'> & { name?: string }): KeptTest => ({
  name: '',
  ...test,
  key: crypto.randomUUID(),
})

export const keepTest = (owner: Owner, test: Omit<KeptTest, 'key' | 'name'>): void =>
  writeTests(owner, [...readTests(owner), newTest(test)])

/** The tests as the `cases` of the API, to run them or to keep them elsewhere. */
export const casesOf = (tests: readonly KeptTest[]): { name: string; input: TestInput; expect: Effect }[] =>
  tests.map(({ name, question, expect }) => ({ name, input: inputOf(question), expect }))

/** The tests in a text of `cases`, as a list or as `{"cases": […]}`; null if it is neither. */
export function testsIn(value: unknown): KeptTest[] | null {
  const list = Array.isArray(value) ? value : (value as { cases?: unknown } | null)?.cases
  if (!Array.isArray(list) || list.length === 0 || !list.every((one) => effects.includes(one?.expect)))
    return null
  return list.map(({ name, input, expect }) =>
    newTest({ name: typeof name === 'string' ? name : '', question: questionOf(input), expect }),
  )
}
