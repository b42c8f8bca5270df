import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { countRows } from '../../platform/db/count-rows.ts'
import { byId, byText, byWord, defineList, type ListPage } from '../../platform/db/list.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'

// pending → approved → executed, pending → rejected, pending or approved → cancelled or expired. Every move is one
// conditional statement; whoever finds no row came too late. Expiry is computed from expires_at wherever a request is
// read, so that nothing depends on when the actor writes it down.

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
const jsonb = (value: unknown) => sql.jsonb(value as never)

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
    requester_id: byId(sql.fragment`r.requester_id`),
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

/** Waits for whoever moves the request, and lets nobody until the transaction ends. */
export async function lockRequest(tx: Tx, tenantId: string, id: string): Promise<void> {
  await tx.query(sql.unsafe`
    select from approval_requests where tenant_id = ${tenantId} and id = ${id} for update`)
}

/** What makes two calls the same. */
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

const openRow = z.object({ id: z.uuid(), status: z.enum(['pending', 'approved']), expires_at: z.number() })
export type OpenRow = z.infer<typeof openRow>

/** The request that is open for a call and its gates, an approved one first; null where there is none. */
export function findOpen(
  tx: Tx,
  key: CallKey,
  gates: readonly GateRef[],
  now: number,
): Promise<OpenRow | null> {
  return tx.maybeOne(sql.type(openRow)`
    select id, status, expires_at from approval_requests
    where ${sameCall(key)} and ${sameGates(gates)} and status in ('pending', 'approved') and expires_at > ${moment(now)}
    order by status, created_at, id limit 1`)
}

/** Ends the pending request of a call where its time is over or its policies have changed since; gives it. */
export function retireStale(
  tx: Tx,
  key: CallKey,
  gates: readonly GateRef[],
  now: number,
): Promise<{ id: string; status: 'expired' | 'cancelled' } | null> {
  const at = moment(now)
  return tx.maybeOne(sql.type(z.object({ id: z.uuid(), status: z.enum(['expired', 'cancelled']) }))`
    update approval_requests set status = case when expires_at <= ${at} then 'expired' else 'cancelled' end
    where ${sameCall(key)} and status = 'pending' and (expires_at <= ${at} or not ${sameGates(gates)})
    returning id, status`)
}

/** How many requests of a person are waiting. */
export function countPendingOf(
  tx: Tx,
  { tenantId, requesterId }: Pick<CallKey, 'tenantId' | 'requesterId'>,
  now: number,
): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ count: z.number() }))`
    select count(*) from approval_requests
    where tenant_id = ${tenantId} and requester_id = ${requesterId} and status = 'pending' and expires_at > ${moment(now)}`)
}

/** A request about to be made; times in ms, `validFor` in seconds. */
export interface NewRequest extends CallKey {
  id: string
  requesterEmail: string
  context: CallContext
  reason: string
  gates: readonly GateRef[]
  approvers: readonly (readonly string[])[]
  quorum: number
  validFor: number
  at: number
  expiresAt: number
}

/** Inserts a request; false where the same call has a pending one. */
export async function insertRequest(tx: Tx, r: NewRequest): Promise<boolean> {
  const inserted = await tx.maybeOne(sql.type(z.object({ id: z.uuid() }))`
    insert into approval_requests (tenant_id, id, requester_id, requester_email, action, resource_type, resource_id,
                                   digest, context, reason, gates, approvers, required_approvals, valid_for,
                                   expires_at, created_at)
    values (${r.tenantId}, ${r.id}, ${r.requesterId}, ${r.requesterEmail}, ${r.action}, ${r.resourceType},
            ${r.resourceId}, ${r.digest}, ${jsonb(r.context)}, ${r.reason}, ${jsonb(r.gates)}, ${jsonb(r.approvers)},
            ${r.quorum}, ${r.validFor}, ${moment(r.expiresAt)}, ${moment(r.at)})
    on conflict do nothing returning id`)
  return inserted !== null
}

const approver = z.object({ id: z.uuid(), email: z.string() })
export type Approver = z.infer<typeof approver>

interface Eligible {
  approvers: readonly (readonly string[])[]
  requesterId: string
  /** Of these alone, where given. */
  among?: readonly string[]
  most: number
}

/** Members who could approve now: active, with a role of each list, and not the requester; at most `most`. */
export function listEligible(tx: Tx, tenantId: string, asked: Eligible): Promise<readonly Approver[]> {
  const [first = []] = asked.approvers
  const among = asked.among
    ? sql.fragment`and m.user_id = any(${sql.array(asked.among, 'uuid')})`
    : sql.fragment``
  return tx.any(sql.type(approver)`
    select m.user_id as id, m.email from memberships m join users u on u.id = m.user_id and u.is_active
    where m.tenant_id = ${tenantId} and m.status = 'active' and m.user_id <> ${asked.requesterId}
      and m.id in (select mr.membership_id from membership_roles mr
                   where mr.tenant_id = ${tenantId} and mr.role_id = any(${sql.array(first, 'uuid')}))
      ${among}
      and not exists (
        select from jsonb_array_elements(${jsonb(asked.approvers)}) needed where not exists (
          select from membership_roles mr
          where mr.tenant_id = m.tenant_id and mr.membership_id = m.id and needed ? mr.role_id::text))
    order by m.joined_at, m.id limit ${asked.most}`)
}

interface NewVote {
  tenantId: string
  requestId: string
  approver: Approver
  decision: 'approve' | 'reject'
  comment: string
  at: number
}

/** Writes down what a person said; false where they have said something already. */
export async function insertVote(tx: Tx, v: NewVote): Promise<boolean> {
  const inserted = await tx.maybeOne(sql.type(z.object({ decision: z.string() }))`
    insert into approval_votes (tenant_id, request_id, approver_id, approver_email, decision, comment, at)
    values (${v.tenantId}, ${v.requestId}, ${v.approver.id}, ${v.approver.email}, ${v.decision}, ${v.comment},
            ${moment(v.at)})
    on conflict do nothing returning decision`)
  return inserted !== null
}

/** pending → approved, usable from now on for as long as the policies say; false where it is not pending. */
export async function markApproved(tx: Tx, tenantId: string, id: string, at: number): Promise<boolean> {
  return moved(
    tx,
    sql.fragment`
    update approval_requests set status = 'approved', decided_at = ${moment(at)},
                                 expires_at = ${moment(at)} + valid_for * interval '1 second'
    where tenant_id = ${tenantId} and id = ${id} and status = 'pending' and expires_at > ${moment(at)}`,
  )
}

/** pending → rejected; false where it is not pending. */
export async function markRejected(tx: Tx, tenantId: string, id: string, at: number): Promise<boolean> {
  return moved(
    tx,
    sql.fragment`
    update approval_requests set status = 'rejected', decided_at = ${moment(at)}
    where tenant_id = ${tenantId} and id = ${id} and status = 'pending' and expires_at > ${moment(at)}`,
  )
}

/** pending → cancelled, and for the requester approved → cancelled; false where neither is the case. */
export async function markCancelled(
  tx: Tx,
  { tenantId, userId }: Pick<Reader, 'tenantId' | 'userId'>,
  id: string,
  at: number,
): Promise<boolean> {
  return moved(
    tx,
    sql.fragment`
    update approval_requests set status = 'cancelled'
    where tenant_id = ${tenantId} and id = ${id} and expires_at > ${moment(at)}
      and (status = 'pending' or (status = 'approved' and requester_id = ${userId}))`,
  )
}

/** approved → executed, under a decision; false where it is not approved (any more). */
export async function markExecuted(
  tx: Tx,
  tenantId: string,
  use: { id: string; decisionId: string; at: number },
): Promise<boolean> {
  return moved(
    tx,
    sql.fragment`
    update approval_requests set status = 'executed', executed_at = ${moment(use.at)}, executed_decision = ${use.decisionId}
    where tenant_id = ${tenantId} and id = ${use.id} and status = 'approved' and expires_at > ${moment(use.at)}`,
  )
}

async function moved(tx: Tx, update: FragmentSqlToken): Promise<boolean> {
  return (await tx.maybeOne(sql.type(z.object({ id: z.uuid() }))`${update} returning id`)) !== null
}

/** Whether the approval was used up under this decision. */
export function wasExecutedUnder(
  tx: Tx,
  tenantId: string,
  { id, decisionId }: { id: string; decisionId: string },
): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select from approval_requests
    where tenant_id = ${tenantId} and id = ${id} and executed_decision = ${decisionId}`)
}

/** Whether the transaction has written or locked anything so far. */
export function hasWritten(tx: Tx): Promise<boolean> {
  return tx.oneFirst(sql.type(z.object({ wrote: z.boolean() }))`
    select pg_current_xact_id_if_assigned() is not null as wrote`)
}

const expiredRow = z.object({ tenant_id: z.uuid(), id: z.uuid() })

/** Writes down at most `most` expiries of all tenants; gives the requests, each to one caller; as the worker role. */
export function expireOverdue(
  tx: Tx,
  now: number,
  most: number,
): Promise<readonly z.infer<typeof expiredRow>[]> {
  return tx.any(sql.type(expiredRow)`
    update approval_requests set status = 'expired'
    where status in ('pending', 'approved') and (tenant_id, id) in (
      select tenant_id, id from approval_requests
      where status in ('pending', 'approved') and expires_at <= ${moment(now)}
      order by expires_at limit ${most} for update skip locked)
    returning tenant_id, id`)
}

/** The name of the tenant, for letters. */
export function findTenantName(tx: Tx, tenantId: string): Promise<string> {
  return tx.oneFirst(
    sql.type(z.object({ name: z.string() }))`select name from tenants where id = ${tenantId}`,
  )
}
