import { serviceObligations } from '../compile/obligations.ts'
import type { Obligation } from '../compile/policy-document.ts'
import type { LateModule } from '../sandbox/run-modules.ts'
import type { AnyQuery } from './query.ts'
import { isReasonCode, type ReasonCode } from './reasons.ts'

export type Effect = 'allow' | 'deny' | 'require_approval'
type Layer = 'invariant' | 'rbac' | 'policy'

/** Why. Clients see the first reason; the code of an invariant is the error code. */
export interface Reason {
  code: ReasonCode
  layer: Layer
  /** in layer `policy`: the policy that gives the reason */
  policy_id?: string
  /** of `platform_rule`: the name of the rule, and its own sentence */
  rule?: string
  message?: string
}

/** A tenant's policy that contributed to the decision. */
export interface Matched {
  policy_id: string
  version: number
  name: string
  effect: Effect
  priority: number
}

/**
 * What all gates that apply require together. `approvers` are lists of role ids; an approver has a role of each list.
 * Times are in seconds.
 */
interface ApprovalSpec {
  quorum: number
  approvers: readonly (readonly string[])[]
  expires_in: number
  valid_for: number
}

/** The engine's answer to one query; `durationUs` covers everything from the input to the parsed answer. */
export interface Decision {
  effect: Effect
  reasons: readonly Reason[]
  matched: readonly Matched[]
  obligations: readonly Obligation[]
  /** null unless the effect is `require_approval`; `matched` names the gates */
  approval: ApprovalSpec | null
  /** the route phase left something open that needs the resource: decide again before acting */
  provisional: boolean
  durationUs: number
  /** the policies whose modules took too long */
  late?: readonly LateModule[]
}

const effects: ReadonlySet<unknown> = new Set<Effect>(['allow', 'deny', 'require_approval'])
const layers: ReadonlySet<unknown> = new Set<Layer>(['invariant', 'rbac', 'policy'])

/**
 * Reads the module's answer to `query`. Throws unless it is a complete answer to this query: on no result, the ids of
 * another request, or an unknown effect, reason or obligation.
 */
export function readDecision(result: unknown, query: AnyQuery): Omit<Decision, 'durationUs'> {
  if (typeof result !== 'object' || result === null) throw new Error('the module gave no answer')
  const answer = result as Record<string, unknown>
  if (answer.request_id !== query.requestId) throw new Error('the answer echoes another request')
  if (answer.tenant_id !== query.subject.tenantId) throw new Error('the answer echoes another tenant')
  if (!effects.has(answer.effect)) throw new Error('the answer has no known effect')
  const reasons = listOf(answer.reasons, 'reasons', isReason)
  if (reasons.length === 0) throw new Error('the answer gives no reason')
  if (typeof answer.provisional !== 'boolean')
    throw new Error('the answer does not say whether it is provisional')
  return {
    effect: answer.effect as Effect,
    reasons: unique(
      reasons,
      ({ code, policy_id, rule, message }) => `${code} ${policy_id} ${rule} ${message}`,
    ),
    matched: unique(listOf(answer.matched, 'matched', isMatched), ({ policy_id }) => policy_id),
    obligations: listOf(answer.obligations, 'obligations', obligationOf(query)),
    approval: approvalOf(answer),
    provisional: answer.provisional,
  }
}

// A policy about several principals of the subject appears once for each.
function unique<T>(items: T[], key: (item: T) => string): T[] {
  if (items.length < 2) return items
  return [...new Map(items.map((item) => [key(item), item] as const)).values()]
}

function approvalOf({ effect, approval }: Record<string, unknown>): ApprovalSpec | null {
  if ((effect === 'require_approval') !== (approval !== null))
    throw new Error('the approval does not match the effect')
  if (approval !== null && !isApprovalSpec(approval)) throw new Error('the approval is malformed')
  return approval
}

function listOf<T>(value: unknown, name: string, isItem: (item: unknown) => item is T): T[] {
  if (!Array.isArray(value) || !value.every(isItem)) throw new Error(`the answer's ${name} are malformed`)
  return value
}

function isReason(item: unknown): item is Reason {
  const reason = item as Reason | null
  if (!isReasonCode(reason?.code) || !layers.has(reason?.layer)) return false
  return reason.code !== 'platform_rule' || (isSentence(reason.rule) && isSentence(reason.message))
}

const isSentence = (text: unknown): text is string =>
  typeof text === 'string' && text !== '' && text.length <= 300

function isMatched(item: unknown): item is Matched {
  const match = item as Matched | null
  return typeof match?.policy_id === 'string' && typeof match.name === 'string' && effects.has(match.effect)
}

function isApprovalSpec(item: unknown): item is ApprovalSpec {
  const spec = item as ApprovalSpec
  const numbers = [spec.quorum, spec.expires_in, spec.valid_for]
  if (!numbers.every((number) => Number.isSafeInteger(number) && number > 0)) return false
  return Array.isArray(spec.approvers) && spec.approvers.length > 0 && spec.approvers.every(Array.isArray)
}

// An obligation that the service cannot enforce must not pass as an allow.
const obligationOf =
  (query: AnyQuery) =>
  (item: unknown): item is Obligation => {
    const type = (item as Obligation | null)?.type
    return typeof type === 'string' && ('application' in query || serviceObligations.has(type))
  }
