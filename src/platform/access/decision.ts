import type { Obligation } from './policy-document.ts'
import type { DecisionQuery } from './query.ts'
import { isReasonCode, type ReasonCode } from './reasons.ts'

export type Effect = 'allow' | 'deny' | 'require_approval'
export type Layer = 'invariant' | 'rbac' | 'policy'

/** Why. The first reason is the one a client is told; of an invariant its code is the error code. */
export interface Reason {
  code: ReasonCode
  layer: Layer
  /** of layer `policy`: whose reason it is */
  policy_id?: string
}

/** A tenant's policy that had a say. */
export interface Matched {
  policy_id: string
  version: number
  name: string
  effect: Effect
  priority: number
}

/**
 * What all gates that apply ask for together: an approver has a role of each of the lists (ids). Times in
 * seconds.
 */
export interface ApprovalSpec {
  quorum: number
  approvers: readonly (readonly string[])[]
  expires_in: number
  valid_for: number
}

/** The engine's answer to one query; `durationUs` is the whole path, input to parsed answer. */
export interface Decision {
  effect: Effect
  reasons: readonly Reason[]
  matched: readonly Matched[]
  obligations: readonly Obligation[]
  /** of `require_approval` only, else null; `matched` names the gates */
  approval: ApprovalSpec | null
  /** the route phase left something open that only the resource can answer: decide again before acting */
  provisional: boolean
  durationUs: number
}

const effects: ReadonlySet<unknown> = new Set<Effect>(['allow', 'deny', 'require_approval'])
const layers: ReadonlySet<unknown> = new Set<Layer>(['invariant', 'rbac', 'policy'])

/**
 * Reads what the module answered to `query`. Throws where it is not one complete answer to this very query:
 * no result, another request's echo, an unknown effect, reason or obligation.
 */
export function readDecision(results: unknown, query: DecisionQuery): Omit<Decision, 'durationUs'> {
  const answer = soleResult(results)
  if (answer.request_id !== query.requestId) throw new Error('the answer echoes another request')
  if (answer.tenant_id !== query.subject.tenantId) throw new Error('the answer echoes another tenant')
  if (!effects.has(answer.effect)) throw new Error('the answer has no known effect')
  const matched = listOf(answer.matched, 'matched', isMatched)
  const reasons = listOf(answer.reasons, 'reasons', isReason)
  if (reasons.length === 0) throw new Error('the answer gives no reason')
  const obligations = listOf(answer.obligations, 'obligations', isObligation)
  return {
    effect: answer.effect as Effect,
    reasons,
    matched,
    obligations,
    approval: null,
    provisional: false,
  }
}

function soleResult(results: unknown): Record<string, unknown> {
  const result = Array.isArray(results) && results.length === 1 ? results[0]?.result : undefined
  if (typeof result !== 'object' || result === null) throw new Error('the module gave no answer')
  return result
}

function listOf<T>(value: unknown, name: string, isItem: (item: unknown) => item is T): T[] {
  if (!Array.isArray(value) || !value.every(isItem)) throw new Error(`the answer's ${name} are malformed`)
  return value
}

function isReason(item: unknown): item is Reason {
  const reason = item as Reason | null
  return isReasonCode(reason?.code) && layers.has(reason?.layer)
}

function isMatched(item: unknown): item is Matched {
  const match = item as Matched | null
  return typeof match?.policy_id === 'string' && typeof match.name === 'string' && effects.has(match.effect)
}

// The platform's own rules attach none; a type nobody here carries out must not pass as an allow.
function isObligation(_item: unknown): _item is Obligation {
  return false
}
