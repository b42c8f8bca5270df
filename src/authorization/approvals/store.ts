import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { noteLogged } from '../../platform/audit/log-quota.ts'
import { addToCount, countRows } from '../../platform/db/count-rows.ts'
import { byId, byText, byWord, defineList, type ListPage } from '../../platform/db/list.ts'
import type { Read } from '../../platform/db/read.ts'
import { countRow, idRow } from '../../platform/db/row-schemas.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { isOfSubject } from '../../tenancy/members/subject-store.ts'

const closedRow = z.object({ id: z.uuid(), status: z.enum(['expired', 'cancelled']) })

// pending → approved → executed; pending → rejected; pending or approved → cancelled or expired. Each transition is one
// conditional statement, which finds no row if another transition came first. Every read computes expiry from
// expires_at, so it does not depend on when the expiry job runs.

export const statuses = ['pending', 'approved', 'rejected', 'cancelled', 'expired', 'executed'] as const
export type Status = (typeof statuses)[number]

const listOf = <T>() => z.custom<T[]>((value) => Array.isArray(value))

const vote = z.object({
  approver: z.object({ id: z.uuid(), email: z.string() }),
  decision: z.enum(['approve', 'reject']),
  comment: z.string(),
  at: z.number(),
})

/** A policy that required the approval, and its version. */
export interface GateRef {
  policy_id: string
  version: number
}

/** The waiting call as approvers see it. */
interface CallContext {
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
  /** Who made keys of the service account that asks: they hold its keys, so they must not decide. */
  requester_keepers: z.array(z.uuid()),
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
  execution_status: z.enum(['pending', 'succeeded', 'failed']).nullable(),
  execution_http_status: z.number().nullable(),
  execution_problem: z.record(z.string(), z.unknown()).nullable(),
  created_at: z.number(),
})

export type RequestRow = z.infer<typeof requestRow>

const moment = (ms: number) => sql.timestamp(new Date(ms))
const jsonb = (value: unknown) => sql.jsonb(value as never)

/** The requests of a tenant, each with its status at `now` (ms). */
const requests = (tenantId: string, now: number) => sql.fragment`(
  select r.tenant_id, r.id, r.requester_id, r.requester_email, r.action, r.resource_type, r.resource_id, r.digest,
         r.context, r.reason, r.gates, r.approvers, r.required_approvals, r.expires_at, r.decided_at, r.executed_at,
         r.execution_status, r.execution_http_status, r.execution_problem, r.created_at, r.status as stored_status,
         case when r.status in ('pending', 'approved') and r.expires_at <= ${moment(now)} then 'expired'
              else r.status end as status
  from approval_requests r where r.tenant_id = ${tenantId})`

const columns = sql.fragment`
  r.id, r.status, r.requester_id, r.requester_email, r.action, r.resource_type, r.resource_id, r.digest, r.context,
  r.reason, r.gates, r.approvers, r.required_approvals, r.expires_at, r.decided_at, r.executed_at,
  r.execution_status, r.execution_http_status, r.execution_problem, r.created_at,
  array(select distinct k.created_by from api_keys k
        where k.tenant_id = r.tenant_id and k.account_id = r.requester_id) as requester_keepers,
  (select coalesce(jsonb_agg(jsonb_build_object(
            'approver', jsonb_build_object('id', v.approver_id, 'email', v.approver_email),
            'decision', v.decision, 'comment', v.comment, 'at', floor(extract(epoch from v.at) * 1000))
          order by v.at, v.approver_id), '[]')
   from approval_votes v where v.tenant_id = r.tenant_id and v.request_id = r.id) as votes`

/** The condition for a status at `now`, on the stored column: no index finds the computed one. */
function hasStatus(status: Status, now: number): FragmentSqlToken {
  const overdue = sql.fragment`r.expires_at <= ${moment(now)}`
  if (status === 'pending') return sql.fragment`r.stored_status = 'pending' and not ${overdue}`
  if (status === 'approved') return sql.fragment`r.stored_status = 'approved' and not ${overdue}`
  if (status !== 'expired') return sql.fragment`r.stored_status = ${status}`
  return sql.fragment`
    (r.stored_status = 'expired' or (r.stored_status in ('pending', 'approved') and ${overdue}))`
}

const name = z.string().min(1, 'Name what to look for.').max(127, 'This may have 127 characters at most.')

/** The approval requests of a tenant. */
export const requestList = defineList({
  id: { column: sql.fragment`r.id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`r.created_at`, field: 'created_at' } },
  filters: {
    status: {
      ...byWord(sql.fragment`r.status`, statuses),
      where: (word, { now }) => hasStatus(word as Status, now),
    },
    action: byText(sql.fragment`r.action`, name),
    requester_id: byId(sql.fragment`r.requester_id`, 'requester.id'),
  },
})

/** A member who reads requests. `roleIds` includes system roles. */
export interface Reader {
  tenantId: string
  userId: string
  roleIds: readonly string[]
}

// The reader has a role of each list, is not the requester, and made no key of it.
const decidable = ({ userId, roleIds }: Reader) => sql.fragment`
  r.requester_id <> ${userId} and not exists (
    select 1 from api_keys k
    where k.tenant_id = r.tenant_id and k.account_id = r.requester_id and k.created_by = ${userId})
  and not exists (
    select 1 from jsonb_array_elements(r.approvers) needed
    where not needed ?| ${sql.array(roleIds, 'text')})`

/** `own`: the reader's requests and those that they can decide. `pending`: those that they can decide now. */
export type View = 'all' | 'own' | 'pending'

function visible(view: View, reader: Reader, now: number): FragmentSqlToken {
  if (view === 'all') return sql.fragment``
  if (view === 'own') return sql.fragment`and (r.requester_id = ${reader.userId} or (${decidable(reader)}))`
  return sql.fragment`and ${hasStatus('pending', now)} and ${decidable(reader)} and not exists (
    select 1 from approval_votes v
    where v.tenant_id = r.tenant_id and v.request_id = r.id and v.approver_id = ${reader.userId})`
}

/** A page of the requests that the reader can see. */
export function listRequests(
  tx: Read,
  reader: Reader,
  { view, now, page }: { view: View; now: number; page: ListPage },
): Promise<readonly RequestRow[]> {
  return tx.any(sql.type(requestRow)`
    select ${columns} from ${requests(reader.tenantId, now)} r
    where true ${visible(view, reader, now)} ${page.tail}`)
}

/** How many requests the reader can see with these filters. */
export function countRequests(
  tx: Read,
  reader: Reader,
  { view, now, page }: { view: View; now: number; page: ListPage },
): Promise<number> {
  if (view === 'all' && !page.filtered) return countRows(tx, reader.tenantId, 'approval_requests')
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from ${requests(reader.tenantId, now)} r
    where true ${visible(view, reader, now)} ${page.conditions}`)
}

/** One request of the tenant with its status at `now` (ms), or null. */
export function findRequest(tx: Read, tenantId: string, id: string, now: number): Promise<RequestRow | null> {
  return tx.maybeOne(sql.type(requestRow)`
    select ${columns} from ${requests(tenantId, now)} r where r.id = ${id}`)
}

/** Whether the person is the requester, or holds keys of the service account that is. */
export const isRequester = (
  { requester_id, requester_keepers }: Pick<RequestRow, 'requester_id' | 'requester_keepers'>,
  userId: string,
): boolean => requester_id === userId || requester_keepers.includes(userId)

/** Whether the reader has the roles to decide the request and is not its requester. As {@link decidable}. */
export const canDecide = (request: RequestRow, { userId, roleIds }: Reader): boolean =>
  !isRequester(request, userId) &&
  request.approvers.every((needed) => needed.some((role) => roleIds.includes(role)))

/** Two calls with the same key are the same call. */
export interface CallKey {
  tenantId: string
  requesterId: string
  action: string
  resourceType: string
  resourceId: string | null
  digest: string
}

const sameCall = (key: CallKey) => sql.fragment`
  tenant_id = ${key.tenantId} and requester_id = ${key.requesterId} and action = ${key.action}
  and resource_type = ${key.resourceType} and resource_id is not distinct from ${key.resourceId}
  and digest = ${key.digest}`

const sameGates = (gates: readonly GateRef[]) =>
  sql.fragment`(gates @> ${jsonb(gates)} and gates <@ ${jsonb(gates)})`

const openRow = z.object({
  id: z.uuid(),
  status: z.enum(['pending', 'approved']),
  expires_at: z.number(),
  /** a worker carries the call out */
  is_stored: z.boolean(),
})
export type OpenRow = z.infer<typeof openRow>

/** The pending or approved request for a call and its gates, approved ones first; or null. */
export function findOpen(
  tx: Tx,
  key: CallKey,
  gates: readonly GateRef[],
  now: number,
): Promise<OpenRow | null> {
  return tx.maybeOne(sql.type(openRow)`
    select id, status, expires_at, execution_status is not null as is_stored from approval_requests
    where ${sameCall(key)} and ${sameGates(gates)} and status in ('pending', 'approved') and expires_at > ${moment(now)}
    order by status, created_at, id limit 1`)
}

/** Ends the pending request of a call if it has expired or its policies have changed; returns it, or null. */
export function retireStale(
  tx: Tx,
  key: CallKey,
  gates: readonly GateRef[],
  now: number,
): Promise<{ id: string; status: 'expired' | 'cancelled' } | null> {
  const at = moment(now)
  return tx.maybeOne(sql.type(closedRow)`
    update approval_requests set status = case when expires_at <= ${at} then 'expired' else 'cancelled' end
    where ${sameCall(key)} and status = 'pending' and (expires_at <= ${at} or not ${sameGates(gates)})
    returning id, status`)
}

/** How many requests of a person are pending. */
export function countPendingOf(
  tx: Tx,
  { tenantId, requesterId }: Pick<CallKey, 'tenantId' | 'requesterId'>,
  now: number,
): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from approval_requests
    where tenant_id = ${tenantId} and requester_id = ${requesterId} and status = 'pending' and expires_at > ${moment(now)}`)
}

/** Serialises transactions that create requests of a person, so that their count stays exact. */
export async function lockRequester(
  tx: Tx,
  { tenantId, requesterId }: Pick<CallKey, 'tenantId' | 'requesterId'>,
): Promise<void> {
  tx.later(sql.unsafe`
    select 1 from memberships m where m.tenant_id = ${tenantId} and ${isOfSubject(requesterId)} for no key update`)
}

const mailedRow = z.object({ id: z.uuid(), mails: z.number(), same_call: z.boolean() })

/** Who got mail about a person's requests since `since` (ms): how often, and whether about this call. */
export function listMailed(
  tx: Tx,
  key: CallKey,
  since: number,
): Promise<readonly z.infer<typeof mailedRow>[]> {
  return tx.any(sql.type(mailedRow)`
    select a as id, count(*) as mails, bool_or(${sameCall(key)}) as same_call
    from approval_requests cross join lateral unnest(mailed_to) a
    where tenant_id = ${key.tenantId} and requester_id = ${key.requesterId} and created_at > ${moment(since)}
      and mailed_to <> '{}'
    group by a`)
}

/** A new request; times in ms, `validFor` in seconds. */
export interface NewRequest extends CallKey {
  id: string
  requesterEmail: string
  context: CallContext
  reason: string
  gates: readonly GateRef[]
  approvers: readonly (readonly string[])[]
  quorum: number
  validFor: number
  mailedTo: readonly string[]
  at: number
  expiresAt: number
}

/** Inserts a request; false if the same call has a pending one. */
export async function insertRequest(tx: Tx, r: NewRequest): Promise<boolean> {
  noteLogged(tx, r.context, r.gates, r.approvers)
  const inserted = await tx.maybeOne(sql.type(idRow)`
    insert into approval_requests (tenant_id, id, requester_id, requester_email, action, resource_type, resource_id,
                                   digest, context, reason, gates, approvers, required_approvals, valid_for,
                                   mailed_to, expires_at, created_at)
    values (${r.tenantId}, ${r.id}, ${r.requesterId}, ${r.requesterEmail}, ${r.action}, ${r.resourceType},
            ${r.resourceId}, ${r.digest}, ${jsonb(r.context)}, ${r.reason}, ${jsonb(r.gates)}, ${jsonb(r.approvers)},
            ${r.quorum}, ${r.validFor}, ${sql.array(r.mailedTo, 'uuid')}, ${moment(r.expiresAt)}, ${moment(r.at)})
    on conflict do nothing returning id`)
  if (inserted) addToCount(tx, r.tenantId, 'approval_requests')
  return inserted !== null
}
