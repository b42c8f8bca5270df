import type { CheckedCondition } from './check-condition.ts'
import type { Leaf } from './compiled-policy.ts'
import type { AttributeCatalogue } from './conditions.ts'
import type { Warning } from './policy-document.ts'
import { type Domain, tellingValues, testOf } from './telling-values.ts'

/** A condition as its author wrote it, with the outcome that its values allow. */
type Outcome = 'never' | 'always' | 'open'

interface Finding {
  outcome: Outcome
  pointer: string
  /** the attribute whose values decide it */
  attribute: string
}

/**
 * Warnings about the parts of a condition that never or always hold, by the types and allowed values of attributes,
 * intervals, and contradictions between comparisons. Of a contradiction only its smallest part is named.
 */
export function conditionWarnings(condition: CheckedCondition, attributes: AttributeCatalogue): Warning[] {
  const findings: Finding[] = []
  const whole = judge(condition, { pointer: '/conditions', wanted: true }, { attributes, findings })
  return findings.map(({ outcome, pointer, attribute }) => ({
    pointer,
    code: outcome === 'never' ? 'never_true' : 'always_true',
    detail: `${sentences[outcome as 'never']} ${attribute}${wholes[whole]}`,
  }))
}

const sentences = {
  never: 'This never holds, whatever the value of',
  always: 'This always holds, whatever the value of',
}
const wholes: Record<Outcome, string> = {
  never: ', so the whole condition is never true.',
  always: ', so the whole condition is always true.',
  open: '.',
}

interface Position {
  pointer: string
  /** whether the condition has to be true, or false inside an odd number of `none` */
  wanted: boolean
}

interface Judging {
  attributes: AttributeCatalogue
  findings: Finding[]
}

function judge(condition: CheckedCondition, { pointer, wanted }: Position, judging: Judging): Outcome {
  if ('leaf' in condition) return judgeLeaf(condition.leaf, { pointer, wanted }, judging)
  const { group, of } = condition
  const each = group === 'none' ? !wanted : wanted
  const conjunctive = (group === 'any') !== wanted
  const outcomes = of.map((member, index) =>
    judge(member, { pointer: `${pointer}/${group}/${index}`, wanted: each }, judging),
  )
  const [decisive, other] = conjunctive ? (['never', 'always'] as const) : (['always', 'never'] as const)
  if (outcomes.includes(decisive)) return decisive
  if (outcomes.every((outcome) => outcome === other)) return other
  const attribute = contradicting(of, each, conjunctive, judging.attributes)
  if (attribute === undefined) return 'open'
  // What a reader sees is the group as written: under `none`, the opposite of what has to hold.
  judging.findings.push({ outcome: asWritten(decisive, wanted), pointer, attribute })
  return decisive
}

const asWritten = (outcome: 'never' | 'always', wanted: boolean): Outcome =>
  wanted ? outcome : outcome === 'never' ? 'always' : 'never'

function judgeLeaf(leaf: Leaf, { pointer, wanted }: Position, { attributes, findings }: Judging): Outcome {
  const test = leaf.operator === 'exists' ? undefined : testOf({ ...leaf, wanted: leaf.wanted === wanted })
  if (!test) return 'open'
  // A comparison says nothing about a missing value, so it holds always if it holds for all values.
  const results = tellingValues([leaf], domainOf(leaf.attribute, attributes)).map(test)
  const outcome = results.every((held) => !held) ? 'never' : results.every((held) => held) ? 'always' : 'open'
  if (outcome !== 'open')
    findings.push({ outcome: asWritten(outcome, wanted), pointer, attribute: leaf.attribute })
  return outcome
}

/** An attribute whose comparisons in a group exclude each other (of all), or leave no value out (of any). */
function contradicting(
  members: readonly CheckedCondition[],
  wanted: boolean,
  conjunctive: boolean,
  attributes: AttributeCatalogue,
): string | undefined {
  const leaves = members.flatMap((member) => ('leaf' in member ? [member.leaf] : []))
  const contradict = (ofOne: readonly Leaf[], name: string) => {
    const tests = ofOne.flatMap((leaf) => testOf({ ...leaf, wanted: leaf.wanted === wanted }) ?? [])
    if (tests.length < 2) return false
    const values = tellingValues(ofOne, domainOf(name, attributes))
    return conjunctive
      ? ![undefined, ...values].some((value) => tests.every((holds) => holds(value)))
      : values.every((value) => tests.some((holds) => holds(value)))
  }
  const [name] =
    [...Map.groupBy(leaves, ({ attribute }) => attribute)].find(([name, ofOne]) => contradict(ofOne, name)) ??
    []
  return name
}

const domains: Readonly<Record<string, Omit<Domain, 'type'>>> = {
  'environment.hour': { min: 0, max: 23 },
  'environment.weekday': { min: 1, max: 7 },
  'subject.auth_age': { min: 0 },
  'subject.acr': { allowed: ['aal1', 'aal2'] },
  'subject.membership_status': { allowed: ['active', 'suspended'] },
}

function domainOf(name: string, attributes: AttributeCatalogue): Domain {
  const { type, allowed } = attributes.get(name) ?? { type: 'string' as const, allowed: null }
  return { type, ...(allowed && { allowed }), ...domains[name] }
}
