import { createHash } from 'node:crypto'
import { canonicalJson } from '../../platform/crypto/canonical-json.ts'
import { inTenant, type Tx } from '../../platform/db/transaction.ts'
import type { Approvals, GuardedCall, OpenRequest, Presented } from '../../platform/http/approval-gate.ts'
import { rfc3339 } from '../../platform/http/schemas.ts'
import type { OpenRow } from './open-store.ts'
import { type GateDeps, requestApproval } from './request-approval.ts'
import { requestUrl } from './show-request.ts'
import { findRequest, type RequestRow } from './store.ts'
import { useApproval } from './use-approval.ts'

/** Approvals as the gate of every route needs them. */
export function approvalGate(deps: GateDeps): Approvals {
  const open = (row: OpenRow): OpenRequest => ({
    id: row.id,
    status: row.status,
    url: requestUrl(deps, row.id),
    expires_at: rfc3339(row.expires_at),
  })
  return {
    async find(call, id) {
      const row = await inTenant(deps.db, scopeOf(call), (tx) => findRequest(tx, call.tenantId, id, call.now))
      return row && isFor(call, row) ? presented(row, open) : null
    },
    async request(call, met) {
      const row = await requestApproval(deps, { ...met, call, digest: digestOf(call) })
      return row && open(row)
    },
    use: useApproval,
    useAlone: (call, id) =>
      inTenant(deps.db, scopeOf(call), (tx: Tx) => useApproval(tx, call, id, { whatever: true })),
  }
}

const scopeOf = ({ tenantId, userId }: GuardedCall) => ({ tenantId, userId })

const isFor = (call: GuardedCall, row: RequestRow): boolean =>
  row.requester_id === call.userId && row.action === call.action && row.digest === digestOf(call)

const digestOf = ({ body }: GuardedCall): string =>
  createHash('sha256').update(canonicalJson(body)).digest('hex')

function presented(row: RequestRow, open: (row: OpenRow) => OpenRequest): Presented {
  const resource = { type: row.resource_type, id: row.resource_id }
  if (row.status === 'pending') return { resource, pending: open({ ...row, status: 'pending' }) }
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
