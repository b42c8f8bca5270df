import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type GoldenCase, goldenCases } from './golden-cases.ts'
import { inputText, type PolicyInstance } from './policy-instance.ts'
import { isReasonCode } from './reasons.ts'

/** About 5 ms. */
const casesInTurn = 32

/**
 * Evaluates every golden case, and rejects at the first wrong answer. Between turns of the event loop the process does
 * what else it has to do. With rules of the installation, `canTakeAway`, an answer can also be their denial, have more
 * obligations, or be provisional.
 */
export async function assertGolden(
  folder: string,
  instance: Pick<PolicyInstance, 'evaluate'>,
  canTakeAway = false,
): Promise<void> {
  for (const [index, golden] of goldenCases(folder).entries()) {
    if (index % casesInTurn === 0) await nextTurn()
    const answer = instance.evaluate('authz/decision', inputText(golden.input), golden.slice) as
      | Answer
      | undefined
    if (answer && (agrees(answer, golden, canTakeAway) || (canTakeAway && isDeniedByRule(answer)))) {
      assertReasonsKnown(answer)
      continue
    }
    const { effect, codes, first, answer: more } = golden
    const expected = JSON.stringify({ effect, codes: codes ?? [first, '…'], ...more })
    const actual = JSON.stringify(
      answer && { ...answer, codes: answer.reasons.map(({ code }) => code), reasons: undefined },
    )
    throw new Error(
      `The policies give a wrong answer to the golden case "${golden.name}"\n  expected ${expected}\n  actual   ${actual}`,
    )
  }
}

interface Answer {
  effect: string
  obligations?: unknown
  provisional?: unknown
  reasons: { code: string }[]
}

// Sentences are code. A bundle built from newer code can give reasons that this process has no sentence for.
function assertReasonsKnown({ reasons }: Answer): void {
  const unknown = reasons.find(({ code }) => !isReasonCode(code))
  if (unknown)
    throw new Error(`This process does not know the reason "${unknown.code}" of the policies: start it again`)
}

function isDeniedByRule({ effect, reasons }: Answer): boolean {
  return effect === 'deny' && reasons.length > 0 && reasons.every(({ code }) => code === 'platform_rule')
}

function agrees(
  answer: Answer,
  { codes, effect, first, answer: more = {} }: GoldenCase,
  canTakeAway: boolean,
): boolean {
  const given = answer.reasons.map(({ code }) => code)
  if (codes && !isDeepStrictEqual(given, codes)) return false
  const { obligations, provisional } = answer
  const expected = { ...answer, ...more, ...(canTakeAway && { obligations, provisional }) }
  if (!isDeepStrictEqual(expected, answer)) return false
  return answer.effect === effect && given[0] === first
}
