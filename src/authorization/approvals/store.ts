import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { countRows } from '../../platform/db/count-rows.ts'
import { byId, byText, byWord, defineList, type ListPage } from '../../platform/db/list.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'

// pending → approved → executed, pending → rejected, pending or approved → cancelled or expired. Every move is one
// conditional statement; whoever finds no row came too late. Expiry is computed from expires_at wherever a request is
// read, so that nothing depends on when the caller writes it down.

export const statuses = ['pending', 'approved', 'rejected', 'cancelled', 'expired', 'executed'] as const
export type Status = (typeof statuses)[number]

const listOf = <T>() => z.custom<T[]>((value) => Array.isArray(value))

const vote = z.object({
  approver: z.object({ id: z.uuid(), email: z.string() }),
  decision: z.enum(['approve', 'reject']),
  comment: z.string(),
  at: z.number(),
})

/** A policy that asked, in the version that did. */
export interface GateRef {
  policy_id: string
  version: number
}

/** The call that waits, as approvers see it. */
export interface CallContext {
  method: string
  path: string
  body: unknown
  ip: string
  request_id: string
  decision_id: string
}

const requestRow = z.object({
  id: z.uuid(),
  status: z.enum(statuses),
  requester_id: z.uuid(),
  requester_email: z.string(),
  action: z.string(),
  resource_type: z.string(),
  resource_id: z.string().nullable(),
  digest: z.string(),
  context: z.custom<CallContext>((value) => typeof value === 'object' && value !== null),
  reason: z.string(),
  gates: listOf<GateRef>(),
  approvers: listOf<string[]>(),
  required_approvals: z.number(),
  votes: z.array(vote),
  expires_at: z.number(),
  decided_at: z.number().nullable(),
  executed_at: z.number().nullable(),
  created_at: z.number(),
})

export type RequestRow = z.infer<typeof requestRow>

const moment = (ms: number) => sql.timestamp(new Date(ms))

/** The requests of a tenant, each with the status that it has at `now` (ms). */
const requests = (tenantId: string, now: number) => sql.fragment`(
  select r.tenant_id, r.id, r.requester_id, r.requester_email, r.action, r.resource_type, r.resource_id, r.digest,
         r.context, r.reason, r.gates, r.approvers, r.required_approvals, r.expires_at, r.decided_at, r.executed_at,
         r.created_at,
         case when r.status in ('pending', 'approved') and r.expires_at <= ${moment(now)} then 'expired'
              else r.status end as status
  from approval_requests r where r.tenant_id = ${tenantId})`

const columns = sql.fragment`
  r.id, r.status, r.requester_id, r.requester_email, r.action, r.resource_type, r.resource_id, r.digest, r.context,
  r.reason, r.gates, r.approvers, r.required_approvals, r.expires_at, r.decided_at, r.executed_at, r.created_at,
  (select coalesce(jsonb_agg(jsonb_build_object(
            'approver', jsonb_build_object('id', v.approver_id, 'email', v.approver_email),
            'decision', v.decision, 'comment', v.comment, 'at', floor(extract(epoch from v.at) * 1000))
          order by v.at, v.approver_id), '[]')
   from approval_votes v where v.tenant_id = r.tenant_id and v.request_id = r.id) as votes`

const name = z.string().min(1, 'Name what to look for.').max(127, 'This may have 127 characters at most.')

/** The approval requests of a tenant. */
export const requestList = defineList({
  id: { column: sql.fragment`r.id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`r.created_at`, field: 'created_at' } },
  filters: {
    status: byWord(sql.fragment`r.status`, statuses),
    action: byText(sql.fragment`r.action`, name),
    requester_id: byId(sql.fragment`r.requester_id`, 'requester.id'),
  },
})

/** A member as approvals see them: role ids, of system roles, too. */
export interface Reader {
  tenantId: string
  userId: string
  roleIds: readonly string[]
}

/** Whom the policy names, the requester left out. */
const decidable = ({ userId, roleIds }: Reader) => sql.fragment`
  r.requester_id <> ${userId} and not exists (
    select from jsonb_array_elements(r.approvers) needed
    where not needed ?| ${sql.array(roleIds, 'text')})`

/** Which requests a reader is shown: all, those about them and those they may decide, or those they may decide now. */
export type View = 'all' | 'own' | 'pending'

function seen(view: View, reader: Reader): FragmentSqlToken {
  if (view === 'all') return sql.fragment``
  if (view === 'own') return sql.fragment`and (r.requester_id = ${reader.userId} or (${decidable(reader)}))`
  return sql.fragment`and r.status = 'pending' and ${decidable(reader)} and not exists (
    select from approval_votes v
    where v.tenant_id = r.tenant_id and v.request_id = r.id and v.approver_id = ${reader.userId})`
}

/** A page of what a reader is shown. */
export function listRequests(
  tx: Tx,
  reader: Reader,
  asked: { view: View; now: number; page: ListPage },
): Promise<readonly RequestRow[]> {
  return tx.any(sql.type(requestRow)`
    select ${columns} from ${requests(reader.tenantId, asked.now)} r
    where true ${seen(asked.view, reader)} ${asked.page.tail}`)
}

/** How many requests a reader is shown, as far as the filters leave them. */
export function countRequests(
  tx: Tx,
  reader: Reader,
  { view, now, page }: { view: View; now: number; page: ListPage },
): Promise<number> {
  if (view === 'all' && !page.filtered) return countRows(tx, reader.tenantId, 'approval_requests')
  return tx.oneFirst(sql.type(z.object({ count: z.number() }))`
    select count(*) from ${requests(reader.tenantId, now)} r
    where true ${seen(view, reader)} ${page.conditions}`)
}

/** One request of the tenant as it is at `now`, or null. */
export function findRequest(tx: Tx, tenantId: string, id: string, now: number): Promise<RequestRow | null> {
  return tx.maybeOne(sql.type(requestRow)`
    select ${columns} from ${requests(tenantId, now)} r where r.id = ${id}`)
}

/** Whether a reader is one of those whom the request's policies name. */
export function mayDecide(tx: Tx, reader: Reader, id: string): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select from approval_requests r where r.tenant_id = ${reader.tenantId} and r.id = ${id} and ${decidable(reader)}`)
}
