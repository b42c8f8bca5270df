import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { rfc3339, timestamp } from '../../platform/http/schemas.ts'
import { type RequestRow, statuses } from './store.ts'

const person = z.object({ id: z.uuid(), email: z.string() })

export const requestSchema = z
  .object({
    id: z.uuid(),
    status: z.enum(statuses),
    requester: person,
    action: z.string(),
    resource_type: z.string(),
    resource_id: z.string().nullable(),
    context: z
      .object({
        method: z.string(),
        path: z.string(),
        body: z.unknown(),
        ip: z.string(),
        request_id: z.string(),
        decision_id: z.string(),
      })
      .meta({ description: 'The waiting call. The approval is for this call only' }),
    reason: z.string().meta({ description: 'The policies that require the approval' }),
    policy_id: z.uuid().nullable(),
    policy_version: z.int().nullable(),
    required_approvals: z.int(),
    votes: z.array(
      z.object({
        approver: person,
        decision: z.enum(['approve', 'reject']),
        comment: z.string(),
        at: timestamp,
      }),
    ),
    expires_at: timestamp.meta({
      description: 'The end of the time to decide; after an approval, the end of the time to use it',
    }),
    decided_at: timestamp.nullable(),
    executed_at: timestamp.nullable(),
    execution: z
      .object({
        status: z.enum(['pending', 'succeeded', 'failed']),
        http_status: z.int().nullable(),
        problem: z.record(z.string(), z.unknown()).nullable(),
        at: timestamp.nullable(),
      })
      .nullable()
      .meta({ description: 'Of a call with `Prefer: respond-async`: what became of it' }),
    created_at: timestamp,
  })
  .meta({ id: 'ApprovalRequest' })

/** A request as callers read it. */
export const showRequest = (row: RequestRow): z.input<typeof requestSchema> => ({
  id: row.id,
  status: row.status,
  requester: { id: row.requester_id, email: row.requester_email },
  action: row.action,
  resource_type: row.resource_type,
  resource_id: row.resource_id,
  context: row.context,
  reason: row.reason,
  policy_id: row.gates[0]?.policy_id ?? null,
  policy_version: row.gates[0]?.version ?? null,
  required_approvals: row.required_approvals,
  votes: row.votes.map((vote) => ({ ...vote, at: rfc3339(vote.at) })),
  expires_at: rfc3339(row.expires_at),
  decided_at: momentOf(row.decided_at),
  executed_at: momentOf(row.executed_at),
  execution: executionOf(row),
  created_at: rfc3339(row.created_at),
})

function executionOf(row: RequestRow) {
  const { execution_status: status, execution_http_status, execution_problem } = row
  // A request that ended in another way is not carried out.
  if (status === null || !['pending', 'approved', 'executed'].includes(row.status)) return null
  return {
    status,
    http_status: execution_http_status,
    problem: execution_problem,
    at: momentOf(row.executed_at),
  }
}

const momentOf = (ms: number | null) => (ms === null ? null : rfc3339(ms))

/** The API address of a request. */
export const requestUrl = ({ publicUrl }: Pick<Deps, 'publicUrl'>, id: string): string =>
  `${publicUrl()}/api/v1/approval-requests/${id}/`
