import type { Tx } from '../../database/executor/transaction.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { type AuditedActor, actorOf, appendAudit } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import type { Caller } from '../../request/caller.ts'
import type { GuardedCall } from '../../request/change/approvals.ts'
import type { Status } from './store.ts'

/** Who changes an approval request (null: the service), in which HTTP request and under which decision; `at` in ms. */
export interface ChangeContext {
  tenantId: string
  person: AuditedActor | null
  requestInfo: Pick<RequestInfo, 'requestId' | 'ip' | 'userAgent'> & Partial<Pick<RequestInfo, 'traceparent'>>
  decisionId?: string
  at: number
}

export const contextOf = (
  { tenantId, userId, auth, requestInfo, decisionId }: Caller,
  at: number,
): ChangeContext => ({
  tenantId,
  person: actorOf({ userId, auth }),
  requestInfo,
  decisionId,
  at,
})

export const contextOfCall = ({
  tenantId,
  userId,
  email,
  callerType: type,
  requestInfo,
  decisionId,
  now,
}: GuardedCall): ChangeContext => ({
  tenantId,
  person: { id: userId, email: email || null, type },
  requestInfo,
  decisionId,
  at: now,
})

/** The event and the audited action of the transition to each status. */
const transitions = {
  pending: { event: 'authorization.approval_requested', action: 'approval_request:request' },
  approved: { event: 'authorization.approval_approved', action: 'approval_request:approve' },
  rejected: { event: 'authorization.approval_rejected', action: 'approval_request:reject' },
  cancelled: { event: 'authorization.approval_cancelled', action: 'approval_request:cancel' },
  expired: { event: 'authorization.approval_expired', action: 'approval_request:expire' },
  executed: { event: 'authorization.approval_executed', action: 'approval_request:execute' },
  failed: { event: 'authorization.approval_failed', action: 'approval_request:execute' },
} as const

interface Transition {
  id: string
  from: Status | null
  /** `failed`: executed, because the stored call failed */
  to: Status | 'failed'
}

/** Appends the event and the audit row of a transition, in the transaction of the transition. */
export async function recordTransition(
  tx: Tx,
  context: ChangeContext,
  { id, from, to }: Transition,
): Promise<void> {
  const { tenantId, person, requestInfo, at } = context
  await appendEvent(tx, {
    type: transitions[to].event,
    tenantId,
    subject: id,
    data: { approval_request_id: id },
    actorId: person?.id ?? null,
    requestId: requestInfo.requestId,
    traceparent: requestInfo.traceparent ?? undefined,
    at,
  })
  await audit(tx, context, id, transitions[to].action, {
    status: { before: from, after: to === 'failed' ? 'executed' : to },
    ...(to === 'failed' && { execution: { before: 'pending', after: to } }),
  })
}

/** Audits an approving vote that does not reach the quorum yet. */
export const auditVote = (tx: Tx, context: ChangeContext, id: string): Promise<void> =>
  audit(tx, context, id, 'approval_request:approve', { vote: { before: null, after: 'approve' } })

const audit = (
  tx: Tx,
  { tenantId, person, requestInfo, decisionId, at }: ChangeContext,
  id: string,
  action: (typeof transitions)[keyof typeof transitions]['action'],
  changes: Parameters<typeof appendAudit>[1]['changes'] & object,
) =>
  appendAudit(tx, {
    tenantId,
    actor: person,
    requestInfo,
    ...(decisionId && { decisionId }),
    action,
    target: { type: 'approval_request', id },
    changes,
    at,
  })
