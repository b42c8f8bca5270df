import { rfc3339 } from '../../request/body/schemas.ts'
import {
  type Approvals,
  approvalInvalid,
  type GuardedCall,
  type OpenRequest,
  type Presented,
} from '../../request/change/approvals.ts'
import { notifyParties } from './notify.ts'
import type { ApprovalDeps } from './open-request.ts'
import { contextOfCall, recordTransition } from './record-transition.ts'
import { digestOf, keyOf, requestApproval } from './request-approval.ts'
import { requestUrl } from './show-request.ts'
import { deleteStoredCall, findRequest, gatesOf, type RequestRow } from './store.ts'
import { findOpen, findRejected, lockRequest, markExecuted, type OpenRow } from './transition-store.ts'

/** The approvals port of the request path. */
export function createApprovals(deps: ApprovalDeps): Approvals {
  const open = <S extends OpenRequest['status'] | 'rejected'>(row: {
    id: string
    status: S
    expires_at: number
  }) => ({
    id: row.id,
    status: row.status,
    url: requestUrl(deps, row.id),
    expires_at: rfc3339(row.expires_at),
  })
  return {
    async find(tx, call, id) {
      await lockRequest(tx, call.tenantId, id)
      const row = await findRequest(tx, call.tenantId, id, call.now)
      return row && isFor(call, row) ? presented(row, open) : null
    },
    async findLast(tx, call, gate) {
      const [key, gates] = [keyOf(call, gate), gatesOf(gate.decision)]
      const row = await findOpen(tx, key, gates, call.now)
      if (row) return open(row)
      const refused = await findRejected(tx, key, gates)
      if (!refused) return null
      const { id, expires_at, decided_at } = refused
      return { ...open({ id, status: 'rejected', expires_at }), decided_at: rfc3339(decided_at) }
    },
    async request(tx, call, gate) {
      const row = await requestApproval(tx, deps, call, gate)
      return row && { open: open(row), isStored: row.is_stored }
    },
    async consume(tx, call, id) {
      const { tenantId, decisionId, now: at, httpStatus, requestInfo } = call
      if (!(await markExecuted(tx, tenantId, { id, decisionId, at, httpStatus }))) throw approvalInvalid()
      await deleteStoredCall(tx, tenantId, id)
      await recordTransition(tx, contextOfCall(call), { id, from: 'approved', to: 'executed' })
      if (!call.later) return
      const { action, userId } = call
      const request = { id, kind: 'call' as const, requester_id: userId, account_id: userId, action }
      await notifyParties(tx, deps, { request, tenantId, outcome: 'executed', requestInfo, at })
    },
  }
}

const isFor = (call: GuardedCall, row: RequestRow): boolean =>
  row.kind === 'call' &&
  row.requester_id === call.userId &&
  row.action === call.action &&
  row.digest === digestOf(call)

function presented(row: RequestRow, open: (row: Omit<OpenRow, 'is_stored'>) => OpenRequest): Presented {
  const resource = { type: row.resource_type, id: row.resource_id }
  if (row.status === 'pending')
    return { resource, pending: open({ id: row.id, status: 'pending', expires_at: row.expires_at }) }
  if (row.status !== 'approved') return null
  const approval = {
    id: row.id,
    subjectId: row.requester_id,
    action: row.action,
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    validUntil: row.expires_at,
    gates: row.gates.map(({ policy_id, version }) => ({ policyId: policy_id, version })),
  }
  return { resource, approval }
}
