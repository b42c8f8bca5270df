import type { Tx } from '../database/executor/transaction.ts'
import type { ApiError } from '../errors.ts'
import { traceDecision } from '../http/trace-requests.ts'
import type { Decision } from '../policy-engine/evaluate/decision.ts'
import { isOwnerRecovery, type Resource } from '../policy-engine/evaluate/query.ts'
import { type StepUp, stepUpDue, stepUpRequired } from './answer/obligations.ts'
import { deniedBecause, refusal } from './answer/refusal.ts'
import {
  Accepted,
  approvalInvalid,
  approvalRequired,
  type GuardedCall,
  type OpenedRequest,
  type Presented,
} from './change/approvals.ts'
import { decide, decidersOf } from './decide.ts'
import type { PathDeps, RequestContext } from './request-context.ts'
import { overtaken } from './route.ts'

/** The outcome of a decision for its request. A refusal is a value, so that the transaction commits normally. */
export type Permit =
  | { effect: 'allow' /** the approval that is consumed with the change */; approvalId: string | null }
  | { effect: 'deny'; refusal: ApiError }
  | { effect: 'require_approval'; refusal: ApiError; accepted?: Accepted }

export type Allowed = Permit & { effect: 'allow' }

/** Throws the refusal of anything but an allow. */
export function assertAllowed(permitted: Permit): asserts permitted is Allowed {
  if (permitted.effect !== 'allow') throw permitted.refusal
}

/**
 * Throws the refusal of the first action of the request that is not allowed. Its decision becomes that of the request, so
 * that the log names it.
 */
export function assertAllAllowed(request: RequestContext, permitOf: (one: RequestContext) => Permit): void {
  for (const one of decidersOf(request)) {
    const permitted = permitOf(one)
    if (permitted.effect !== 'allow') request.decided = one.decided
    assertAllowed(permitted)
  }
}

/** The permit of a request that cannot require an approval. */
export function permit(request: RequestContext, decision: Decision): Permit {
  const { caller, route, now } = request
  if (decision.effect !== 'allow')
    return { effect: 'deny', refusal: refusal(decision, route.action, caller.decisionId) }
  const due = stepUpDue(decision.obligations, caller.auth.session, now)
  return due ? stepUpFirst(request, decision, due) : { effect: 'allow', approvalId: null }
}

/** The denial of a request that needs a more recent or stronger sign-in. */
export const stepUpFirst = (request: RequestContext, decision: Decision, due: StepUp): Permit =>
  due.possible
    ? { effect: 'deny', refusal: stepUpRequired(due) }
    : denyBecause(request, 'step_up_impossible', decision)

/** A call that can require an approval, with the approval request that it names. */
export interface Gateable {
  call: GuardedCall
  named: { id: string; presented: Presented } | null
  /** Whether an approval request is opened where one is needed. */
  asksApproval: boolean
  /** Makes the change and undoes it. Throws why it cannot be made. Null if it is not prepared yet. */
  attempt: (() => Promise<unknown>) | null
}

/**
 * The permit of a change on `resource`, decided inside the change's transaction. When a policy requires an approval,
 * this opens an approval request in the transaction, which then changes nothing else. Null if the change has to be
 * prepared, or prepared again, before it can be attempted.
 *
 * Approvers are not asked about what cannot be done. So the change itself is made and undone first, and its refusal is the
 * answer: a list of checks to repeat here would miss some. A change can run twice, because it only changes the database.
 * It is checked anew when it is made.
 */
export async function permitChange(
  tx: Tx,
  deps: PathDeps,
  request: RequestContext,
  resource: Resource,
  { call, named, asksApproval, attempt }: Gateable,
): Promise<Permit | null> {
  const presented = named?.presented && isAbout(named.presented, resource) ? named.presented : null
  const approval = presented && 'approval' in presented ? presented.approval : null
  const decision = decide(deps, request, 'resource', resource, { approval })
  if (decision.effect === 'deny') return permit(request, decision)
  // The actor could ask as the member, and approve as themselves.
  if (request.caller.impersonator && (named || decision.effect === 'require_approval'))
    return denyBecause(request, 'impersonation_not_allowed', decision)
  if (named && !presented) return { effect: 'deny', refusal: approvalInvalid() }
  if (presented && 'pending' in presented)
    return { effect: 'require_approval', refusal: approvalRequired(decision, call, presented.pending) }
  if (decision.effect === 'allow') return withApproval(permit(request, decision), named)
  if (!asksApproval) {
    const last = await deps.approvals.findLast(tx, call, { resource, decision })
    return { effect: 'require_approval', refusal: approvalRequired(decision, call, last) }
  }
  if (!attempt || (await attempt()) === overtaken) return null

  const ownerRecovery = isOwnerRecovery(request.route.action, request.caller.auth.membership)
  const opened = await deps.approvals.request(tx, call, { resource, decision, ownerRecovery })
  if (opened) return waiting(opened, call, approvalRequired(decision, call, opened.open))
  if (!ownerRecovery) return denyBecause(request, 'no_eligible_approver', decision)
  // A lone owner could otherwise never repair policies that require an approval for repairing policies.
  const withoutOthers = decide(deps, request, 'resource', resource, { approval, othersCanApprove: false })
  return withoutOthers.effect === 'require_approval'
    ? denyBecause(request, 'no_eligible_approver', withoutOthers)
    : permit(request, withoutOthers)
}

/** A stored call is accepted; when a worker carries one out, it is refused as any other. */
const waiting = (
  { open, isStored }: OpenedRequest,
  { stored, later }: GuardedCall,
  refusal: ApiError,
): Permit => ({
  effect: 'require_approval',
  refusal,
  ...(stored && isStored && !later && { accepted: new Accepted(open) }),
})

const isAbout = (presented: NonNullable<Presented>, { type, id }: Resource) =>
  presented.resource.type === type && presented.resource.id === id

const withApproval = (permitted: Permit, named: Gateable['named']): Permit =>
  permitted.effect === 'allow' ? { effect: 'allow', approvalId: named?.id ?? null } : permitted

/** Denies a call that does not meet a condition of its permission; it is logged as a denial. `hint` says what to do. */
export function denyBecause(
  request: RequestContext,
  code: Parameters<typeof deniedBecause>[0],
  decision: Decision,
  hint = '',
): Permit & { effect: 'deny' } {
  const denied = deniedBecause(code, decision)
  traceDecision(request.http, 'resource', denied)
  if (request.decided) request.decided = { ...request.decided, decision: denied }
  return { effect: 'deny', refusal: refusal(denied, request.route.action, request.caller.decisionId, hint) }
}
