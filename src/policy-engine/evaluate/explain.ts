import { type CheckedCondition, checkCondition, groupOf } from '../compile/check-condition.ts'
import type { CompiledPolicy } from '../compile/compiled-policy.ts'
import { proofOf } from '../compile/condition-proof.ts'
import type { Condition, ConditionLeaf, DataType } from '../compile/conditions.ts'
import type { PolicyDocument } from '../compile/policy-document.ts'
import { type IllTyped, valueFaults } from './attribute-faults.ts'
import { type AttributeValue, attributesOf } from './attributes.ts'
import type { Decision } from './decision.ts'
import { type AnyQuery, policyInput } from './query.ts'
import { sentenceOf } from './reasons.ts'

/** A policy to explain: stored or a draft, in the slice or not. */
export interface ExplainedPolicy {
  id: string
  compiled: CompiledPolicy
  document: PolicyDocument
  version?: number
  /** as in a slice */
  wasm?: Uint8Array<ArrayBuffer> | null
}

export type Outcome = 'true' | 'false' | 'unknown'

/**
 * One node of a condition as written, with its result. `actual` is the attribute's value, null if missing or ill-typed;
 * `withheld`: there can be a value that the reader may not see, and the outcome is that without it.
 */
export type TraceNode =
  | { path: string; outcome: Outcome; group: 'all' | 'any' | 'none'; of: TraceNode[] }
  | TraceLeaf

export type TraceLeaf = {
  path: string
  outcome: Outcome
  actual: AttributeValue | null
  withheld?: true
} & ConditionLeaf

interface PolicyExplanation {
  policy_id: string
  /** it covers the subject, and its condition makes it apply; with a missing value, a deny or a gate applies */
  applies: boolean
  missing_attributes: string[]
  ill_typed_attributes: IllTyped[]
  /** null if the policy has no condition */
  trace: TraceNode | null
  /** what its module says */
  messages: string[]
}

export interface Explanation {
  decision: Decision
  policies: PolicyExplanation[]
}

interface ConditionNode {
  path: string
  condition: CheckedCondition
}

/** The input of `authz/explain`: the input of the decision, and each node with the proofs of both its outcomes. */
export function explainInput(
  query: AnyQuery,
  policies: readonly ExplainedPolicy[],
  alsoRead: Readonly<Record<string, DataType>> = {},
) {
  const wanted: Record<string, DataType> = Object.assign(
    { ...alsoRead, ...query.slice.attributes },
    ...policies.map(({ compiled }) => compiled.attributes),
  )
  const explain = policies.map(({ id, compiled, document }) => ({
    policy_id: id,
    subjects: compiled.subjects,
    ...compiled.proof,
    applies_if: compiled.effect === 'allow',
    nodes: nodesOf(document, compiled).map(({ path, condition }) => ({
      path,
      holds: proofOf(condition, true),
      fails: proofOf(condition, false),
    })),
  }))
  return { ...policyInput(query), attrs: attributesOf(query, wanted), explain }
}

interface PolicyAnswer {
  policy_id: string
  applies: boolean
  nodes: { path: string; outcome: Outcome }[]
}

/** The answer of `authz/explain`. */
export interface ExplainAnswer {
  decision: unknown
  policies: PolicyAnswer[]
}

/** Joins the module's answers to the policies as written. Throws if the answers are about other policies. */
export function explained(
  query: AnyQuery,
  answers: readonly PolicyAnswer[],
  policies: readonly ExplainedPolicy[],
  attrs: Readonly<Record<string, AttributeValue | null>>,
  messages: ReadonlyMap<string, readonly string[]> = new Map(),
): PolicyExplanation[] {
  if (answers.length !== policies.length) throw new Error('the explanation is about other policies')
  return policies.map(({ id, compiled, document }, index) => {
    const answer = answers[index] as PolicyAnswer
    if (answer.policy_id !== id) throw new Error('the explanation is about another policy')
    const outcomes = new Map(answer.nodes.map(({ path, outcome }) => [path, outcome]))
    const { missing, illTyped } = valueFaults(query, wantedBy(compiled))
    const trace = document.conditions && traced(document.conditions, '/conditions', outcomes, attrs)
    const said = [...(messages.get(id) ?? [])]
    return {
      policy_id: id,
      applies: answer.applies,
      missing_attributes: missing,
      ill_typed_attributes: illTyped,
      trace,
      messages: said,
    }
  })
}

/** The attributes that a policy needs: of a module, without those that it reads only if they are there. */
export const wantedBy = ({ attributes, module }: CompiledPolicy) =>
  module
    ? Object.fromEntries(
        module.needed.flatMap((name) => (attributes[name] ? [[name, attributes[name]]] : [])),
      )
    : attributes

// The attributes keep the types that they had when the policy was compiled.
function nodesOf(document: PolicyDocument, { attributes }: CompiledPolicy): ConditionNode[] {
  if (document.conditions === null) return []
  const types = new Map(Object.entries(attributes).map(([name, type]) => [name, { type }]))
  const { condition } = checkCondition(document.conditions, { attributes: types })
  return flat(condition, '/conditions')
}

function flat(condition: CheckedCondition, path: string): ConditionNode[] {
  if ('leaf' in condition) return [{ path, condition }]
  const below = condition.of.flatMap((member, index) => flat(member, `${path}/${condition.group}/${index}`))
  return [{ path, condition }, ...below]
}

function traced(
  condition: Condition,
  path: string,
  outcomes: ReadonlyMap<string, Outcome>,
  attrs: Readonly<Record<string, AttributeValue | null>>,
): TraceNode {
  const outcome = outcomes.get(path) ?? 'unknown'
  const group = groupOf(condition)
  if (!group) {
    const leaf = condition as ConditionLeaf
    return { path, outcome, ...leaf, actual: attrs[leaf.attribute] ?? null }
  }
  const [kind, members] = group
  const of = members.map((member, index) => traced(member, `${path}/${kind}/${index}`, outcomes, attrs))
  return { path, outcome, group: kind, of }
}

/** Marks the comparisons with attributes that were left out of the query. */
export function withoutWithheld(node: TraceNode, isWithheld: (attribute: string) => boolean): TraceNode {
  if ('group' in node) return { ...node, of: node.of.map((one) => withoutWithheld(one, isWithheld)) }
  if (![node.attribute, node.value_from ?? ''].some(isWithheld)) return node
  return { ...node, actual: isWithheld(node.attribute) ? null : node.actual, withheld: true }
}

/** The comparisons that keep a condition from being true; empty without a condition. */
export function failedLeaves(trace: TraceNode | null): TraceLeaf[] {
  return trace ? keeping(trace, 'true') : []
}

// What keeps `none` from being true keeps its members from being false.
function keeping(node: TraceNode, wanted: 'true' | 'false'): TraceLeaf[] {
  if (node.outcome === wanted) return []
  if (!('group' in node)) return [node]
  const other = wanted === 'true' ? 'false' : 'true'
  return node.of.flatMap((member) => keeping(member, node.group === 'none' ? other : wanted))
}

const outcomeWords = { true: 'is true', false: 'is false', unknown: 'is unknown' }

/** Sentences that explain a decision to an administrator, the deciding reasons first. */
export function explanationSentences(
  { decision, policies }: Explanation,
  action: string,
  isAboutReader = true,
): string[] {
  const names = new Map(decision.matched.map(({ policy_id, name }) => [policy_id, name]))
  const reasons = decision.reasons.map((reason) =>
    reason.policy_id === undefined
      ? sentenceOf(reason, action, isAboutReader)
      : `${sentenceOf(reason, action, isAboutReader)} The policy is "${names.get(reason.policy_id) ?? reason.policy_id}".`,
  )
  const said = policies.flatMap(({ policy_id, messages }) =>
    messages.map((message) => `The module of "${names.get(policy_id) ?? policy_id}" says: ${message}`),
  )
  return [...reasons, ...said, ...policies.flatMap(({ trace }) => (trace ? nodeSentences(trace) : []))]
}

function nodeSentences(node: TraceNode): string[] {
  if ('group' in node) return node.of.flatMap(nodeSentences)
  return [`${leafSentence(node)}.`]
}

/** What was compared, the outcome, and the value. */
export const leafSentence = ({ actual, ...comparison }: Comparison & { actual: unknown }): string =>
  `${comparisonSentence(comparison)}: ${valueWords(actual)}`

/** What was compared, and the outcome. */
export function comparisonSentence({ attribute, operator, value, value_from, outcome }: Comparison): string {
  const operand = value_from ?? (value === undefined ? '' : JSON.stringify(value))
  const comparison = [attribute, operator.replaceAll('_', ' '), operand].filter(Boolean).join(' ')
  return `"${comparison}" ${outcomeWords[outcome]}`
}

type Comparison = Pick<TraceLeaf, 'attribute' | 'outcome'> & {
  operator: string
  value?: unknown
  value_from?: string | undefined
}

const valueWords = (actual: unknown) =>
  actual === null ? 'the value is missing or of another type' : `the value is ${JSON.stringify(actual)}`
