import type { ActionName } from '../../policy-engine/catalogue/actions.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import type { GrantedApproval, Resource } from '../../policy-engine/evaluate/query.ts'
import type { Tx } from '../db/transaction.ts'
import { ApiError } from '../errors.ts'
import { refusal } from './refusal.ts'
import type { RequestInfo } from './request-info.ts'

/** A call as approvals are bound to it. `body` is the validated one, null where the route takes none. */
export interface GuardedCall {
  tenantId: string
  userId: string
  email: string
  requestInfo: RequestInfo
  action: ActionName
  method: string
  path: string
  /** The route's path with its parameters as `:id`; which object it is about is the resource of the decision. */
  route: string
  body: unknown
  /** The body as approvers may see it. */
  shownBody: unknown
  decisionId: string
  /** ms since 1970 */
  now: number
}

/** What a refused caller is told of the request that stands for their call. */
export interface OpenRequest {
  id: string
  status: 'pending' | 'approved'
  url: string
  expires_at: string
}

/** What the request that a caller names is worth for this call, its resource aside; null: nothing. */
export type Presented =
  | { resource: Pick<Resource, 'type' | 'id'>; approval: GrantedApproval }
  | { resource: Pick<Resource, 'type' | 'id'>; pending: OpenRequest }
  | null

/**
 * What was decided about which resource; `ownerRecovery` says that without it the caller could not mend the policies.
 */
export interface GatedDecision {
  resource: Resource
  decision: Decision
  ownerRecovery: boolean
}

/** What the path of a request needs of approvals; authorization/approvals provides it. */
export interface Approvals {
  /** The request of this id, locked, where it is the caller's for this very call and still counts. */
  find(tx: Tx, call: GuardedCall, id: string): Promise<Presented>
  /**
   * Opens a request for the call, or gives the open one. Null where too few people are eligible: one, or with
   * `ownerRecovery` as many as the policy asks for.
   */
  request(tx: Tx, call: GuardedCall, gate: GatedDecision): Promise<OpenRequest | null>
  /** Consumes an approval in the transaction of its effect, once; throws 403 `approval_invalid` where it is gone. */
  consume(tx: Tx, call: GuardedCall, id: string): Promise<void>
}

/** 403: what was named answers no gate of this call. It does not tell why, for the request may be somebody else's. */
export const approvalInvalid = () =>
  new ApiError(
    403,
    'approval_invalid',
    'This approval is not for this call, was used, or counts no more. Repeat the call without Approval-Request.',
  )

/** 403 with the request that waits for its approvers, or was approved and is to be named. */
export function approvalRequired(decision: Decision | null, decisionId: string, open: OpenRequest): ApiError {
  const members = decision ? refusal(decision, decisionId).members : { decision_id: decisionId, reasons: [] }
  const detail =
    open.status === 'pending'
      ? 'A policy of the tenant asks for an approval first. Repeat the call once it is given.'
      : 'This was approved. Repeat the call with Approval-Request: and the id of the request.'
  return new ApiError(403, 'approval_required', detail, { members: { ...members, approval_request: open } })
}
