import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import { ApiError } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import type { ActionName } from '../../policy-engine/catalogue/actions.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import type { GrantedApproval, Resource, SubjectType } from '../../policy-engine/evaluate/query.ts'
import { whyRefused } from '../answer/refusal.ts'
import type { Claims } from '../caller.ts'

/** A call as it was sent, to be carried out later. Sealed when it is stored. */
export interface StoredCall {
  method: string
  /** The path of the route, with parameters as `:id`. */
  route: string
  path: string
  params: Record<string, string>
  /** The text of the body; empty without one. */
  body: string
  ifMatch: Versions
  claims: Claims
  requestInfo: RequestInfo
  /** When it was first stored, in ms since 1970; absent until then. */
  storedAt?: number
}

/** The call that an approval is bound to. `body` is the validated body without a password; null for a route without one. */
export interface GuardedCall {
  tenantId: string
  userId: string
  /** Empty for a service account. */
  email: string
  callerType: SubjectType
  /** What mails call the caller: a person's address, or the name of a service account. */
  callerName: string
  requestInfo: RequestInfo
  action: ActionName
  method: string
  path: string
  /** The route's path with its parameters as `:id`. */
  route: string
  params: Record<string, string>
  /** The validated query; null for a route without one. */
  query: unknown
  body: unknown
  /** The body without its secret parts, for approvers. */
  shownBody: unknown
  decisionId: string
  /** ms since 1970 */
  now: number
  /** The status of a successful answer. */
  httpStatus: number
  /** The call to store, so that a worker carries it out when it is approved; null: the caller repeats it. */
  stored: StoredCall | null
  /** A worker carries out a stored call. */
  later: boolean
}

/** The approval request for a refused call, as the caller sees it. */
export interface OpenRequest {
  id: string
  status: 'pending' | 'approved'
  url: string
  expires_at: string
}

/** An approval request that was rejected. Its caller may ask again. */
export interface RejectedRequest extends Omit<OpenRequest, 'status'> {
  status: 'rejected'
  decided_at: string
}

/** `isStored`: a worker carries the call out when the request is approved. */
export interface OpenedRequest {
  open: OpenRequest
  isStored: boolean
}

/** 202: the call is stored, and carried out when it is approved. */
export class Accepted {
  readonly request: OpenRequest
  constructor(request: OpenRequest) {
    this.request = request
  }
}

/** What the presented approval request means for this call, if the resource is the same. Null: it does not count. */
export type Presented =
  | { resource: Pick<Resource, 'type' | 'id'>; approval: GrantedApproval }
  | { resource: Pick<Resource, 'type' | 'id'>; pending: OpenRequest }
  | null

/** A decision that requires approval. `ownerRecovery`: the caller is an owner who reads or changes policies. */
export interface GatedDecision {
  resource: Resource
  decision: Decision
  ownerRecovery: boolean
}

/** What the request path needs from approvals. authorization/approvals implements it. */
export interface Approvals {
  /** Locks and gives the request with this id, when it is the caller's, for exactly this call, and still valid. */
  find(tx: Tx, call: GuardedCall, id: string): Promise<Presented>
  /** The open request for the call, else the last one if it was rejected; null if there is none. */
  findLast(
    tx: Tx,
    call: GuardedCall,
    gate: Pick<GatedDecision, 'resource' | 'decision'>,
  ): Promise<OpenRequest | RejectedRequest | null>
  /**
   * Opens a request for the call, or gives the open one. Null when too few approvers are eligible: the call needs one,
   * or with `ownerRecovery` as many as the policy's quorum.
   */
  request(tx: Tx, call: GuardedCall, gate: GatedDecision): Promise<OpenedRequest | null>
  /**
   * Consumes an approval in the transaction of its effect. Throws 403 `approval_invalid` when it was consumed before.
   */
  consume(tx: Tx, call: GuardedCall, id: string): Promise<void>
}

/** 403: the named request does not approve this call. It gives no reason: the request can be another user's. */
export const approvalInvalid = () =>
  new ApiError(
    403,
    'approval_invalid',
    'This approval is not for this call, was already used, or is no longer valid. Repeat the call without Approval-Request.',
  )

const details = {
  none: 'A policy of the tenant requires an approval.',
  pending: 'A policy of the tenant requires an approval. Repeat the call when it is approved.',
  approved: 'This was approved. Repeat the call with the id of the request in the header Approval-Request.',
  rejected: 'A policy of the tenant requires an approval. The last request was rejected; you can ask again.',
}

/**
 * 403 with the approval request, which is pending, or approved and must be named in the next call, or was rejected; null: there
 * is none.
 */
export function approvalRequired(
  decision: Decision,
  { action, decisionId }: Pick<GuardedCall, 'action' | 'decisionId'>,
  last: OpenRequest | RejectedRequest | null,
): ApiError {
  const members = { ...whyRefused(decision, action, decisionId), ...(last && { approval_request: last }) }
  return new ApiError(403, 'approval_required', details[last?.status ?? 'none'], { members })
}
