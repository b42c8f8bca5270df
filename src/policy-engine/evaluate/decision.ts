import { serviceObligations } from '../compile/obligations.ts'
import type { Obligation } from '../compile/policy-document.ts'
import type { AnyQuery } from './query.ts'
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
export function readDecision(result: unknown, query: AnyQuery): Omit<Decision, 'durationUs'> {
  if (typeof result !== 'object' || result === null) throw new Error('the module gave no answer')
  const answer = result as Record<string, unknown>
  if (answer.request_id !== query.requestId) throw new Error('the answer echoes another request')
  if (answer.tenant_id !== query.subject.tenantId) throw new Error('the answer echoes another tenant')
  if (!effects.has(answer.effect)) throw new Error('the answer has no known effect')
  const reasons = listOf(answer.reasons, 'reasons', isReason)
  if (reasons.length === 0) throw new Error('the answer gives no reason')
  if (typeof answer.provisional !== 'boolean')
    throw new Error('the answer says not whether it is provisional')
  return {
    effect: answer.effect as Effect,
    reasons: once(reasons, ({ code, policy_id }) => `${code} ${policy_id}`),
    matched: once(listOf(answer.matched, 'matched', isMatched), ({ policy_id }) => policy_id),
    obligations: listOf(answer.obligations, 'obligations', obligationOf(query)),
    approval: approvalOf(answer),
    provisional: answer.provisional,
  }
}

// A policy about several principals of the subject is met once for each.
function once<T>(items: T[], key: (item: T) => string): T[] {
  if (items.length < 2) return items
  return [...new Map(items.map((item) => [key(item), item] as const)).values()]
}

function approvalOf({ effect, approval }: Record<string, unknown>): ApprovalSpec | null {
  if ((effect === 'require_approval') !== (approval !== null)) throw new Error('the approval is out of place')
  if (approval !== null && !isApprovalSpec(approval)) throw new Error('the approval is malformed')
  return approval
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

function isApprovalSpec(item: unknown): item is ApprovalSpec {
  const spec = item as ApprovalSpec
  const numbers = [spec.quorum, spec.expires_in, spec.valid_for]
  if (!numbers.every((number) => Number.isSafeInteger(number) && number > 0)) return false
  return Array.isArray(spec.approvers) && spec.approvers.length > 0 && spec.approvers.every(Array.isArray)
}

// A type nobody here carries out must not pass as an allow.
const obligationOf =
  (query: AnyQuery) =>
  (item: unknown): item is Obligation => {
    const type = (item as Obligation | null)?.type
    return typeof type === 'string' && ('application' in query || serviceObligations.has(type))
  }
