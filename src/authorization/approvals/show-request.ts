import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import type { Caller } from '../../request/caller.ts'
import {
  type CallContext,
  canDecide,
  type EvaluationContext,
  type RequestRow,
  readerOf,
  statuses,
} from './store.ts'

const person = z.object({ id: z.uuid(), email: z.string() })

const callContext = z
  .object({
    method: z.string(),
    path: z.string(),
    body: z.unknown(),
    ip: z.string(),
    request_id: z.string(),
    decision_id: z.string(),
  })
  .meta({ description: 'The waiting call. The approval is for this call only' })

const values = z.record(z.string(), z.unknown()).nullable()
const evaluationContext = z
  .object({
    properties: values,
    action_properties: values
      .optional()
      .meta({ description: 'Only if the policies read something of the action' }),
    context: values,
    decision_id: z.string(),
  })
  .meta({
    description:
      'What the policies that require the approval read of the resource, the action and the context. The approval is for these values only. Null once they are deleted',
  })

const sharedFields = z.object({
  id: z.uuid(),
  status: z.enum(statuses),
  requester: person,
  subject: z
    .object({ type: z.string(), id: z.string(), email: z.string().optional() })
    .meta({ description: 'Who would act; of a call the requester' }),
  action: z.string(),
  resource_type: z.string(),
  resource_id: z.string().nullable(),
  message: z.string().meta({ description: 'What the application says about it; empty for a call' }),
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

const shownFields = sharedFields.extend({
  can_vote: z.boolean().meta({
    description:
      'Whether you can approve or reject it now: it is pending and not yours, you have the roles, and you have not voted. It is also yours if you are its subject, or made a key of the service account that is',
  }),
})

export const requestSchema = z
  .discriminatedUnion('kind', [
    shownFields.extend({
      kind: z.literal('call').meta({ description: 'A call of this service waits' }),
      context: callContext,
    }),
    shownFields.extend({
      kind: z.literal('application').meta({ description: 'An application asks about an action of its own' }),
      context: evaluationContext,
    }),
  ])
  .meta({ id: 'ApprovalRequest' })

/** A request as a caller reads it. */
export const showRequest = (row: RequestRow, caller: Reading): z.input<typeof requestSchema> => ({
  ...fieldsOf(row),
  can_vote: canVote(row, caller),
})

type Reading = Pick<Caller, 'tenantId' | 'userId' | 'auth' | 'token'>

/** Only people vote, in sessions of their own. */
const canVote = (row: RequestRow, caller: Reading): boolean =>
  caller.token === 'access' &&
  row.status === 'pending' &&
  canDecide(row, readerOf(caller)) &&
  !row.votes.some(({ approver }) => approver.id === caller.userId)

/** A request as policies read it. */
export const fieldsOf = (row: RequestRow) => ({
  ...sharedBy(row),
  ...(row.kind === 'call'
    ? { kind: row.kind, context: row.context as CallContext }
    : { kind: row.kind, context: row.context as EvaluationContext }),
})

const sharedBy = (row: RequestRow) => ({
  id: row.id,
  status: row.status,
  requester: { id: row.requester_id, email: row.requester_email },
  subject: {
    type: row.subject_type,
    id: row.subject_id,
    ...(row.subject_email && { email: row.subject_email }),
  },
  action: row.action,
  resource_type: row.resource_type,
  resource_id: row.resource_id,
  message: row.message,
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
