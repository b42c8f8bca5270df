import { appendAudit } from '../../platform/audit/append-audit.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { GuardedCall } from '../../platform/http/approvals.ts'
import type { Caller } from '../../platform/http/caller.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import type { Status } from './store.ts'

/** Who moved a request, if it was somebody, in which request of theirs and under which decision; `at` in ms. */
export interface Mover {
  tenantId: string
  person: { id: string; email: string } | null
  requestInfo: Pick<RequestInfo, 'requestId' | 'ip' | 'userAgent'> & Partial<Pick<RequestInfo, 'traceparent'>>
  decisionId?: string
  at: number
}

export const moverOf = ({ tenantId, userId, auth, requestInfo, decisionId }: Caller, at: number): Mover => ({
  tenantId,
  person: { id: userId, email: auth.user.email },
  requestInfo,
  decisionId,
  at,
})

export const callerOf = ({ tenantId, userId, email, requestInfo, decisionId, now }: GuardedCall): Mover => ({
  tenantId,
  person: { id: userId, email },
  requestInfo,
  decisionId,
  at: now,
})

/** What happens to a request, as the event and the deed that it is. */
const moves = {
  pending: { event: 'authorization.approval_requested', deed: 'approval_request:request' },
  approved: { event: 'authorization.approval_approved', deed: 'approval_request:approve' },
  rejected: { event: 'authorization.approval_rejected', deed: 'approval_request:reject' },
  cancelled: { event: 'authorization.approval_cancelled', deed: 'approval_request:cancel' },
  expired: { event: 'authorization.approval_expired', deed: 'approval_request:expire' },
  executed: { event: 'authorization.approval_executed', deed: 'approval_request:execute' },
} as const

interface Move {
  id: string
  from: Status | null
  to: Status
}

/** Writes event and audit row of a move, in its transaction: that happens once. */
export async function tellMove(tx: Tx, mover: Mover, { id, from, to }: Move): Promise<void> {
  const { tenantId, person, requestInfo, at } = mover
  await appendEvent(tx, {
    type: moves[to].event,
    tenantId,
    subject: id,
    data: { approval_request_id: id },
    actorId: person?.id ?? null,
    requestId: requestInfo.requestId,
    traceparent: requestInfo.traceparent ?? undefined,
    at,
  })
  await audit(tx, mover, id, moves[to].deed, { status: { before: from, after: to } })
}

/** Writes down a vote that decides nothing yet. */
export const auditVote = (tx: Tx, mover: Mover, id: string): Promise<void> =>
  audit(tx, mover, id, 'approval_request:approve', { vote: { before: null, after: 'approve' } })

const audit = (
  tx: Tx,
  { tenantId, person, requestInfo, decisionId, at }: Mover,
  id: string,
  action: (typeof moves)[Status]['deed'],
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
