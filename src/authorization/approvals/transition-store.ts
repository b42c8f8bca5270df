import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { skippingLocked } from '../../database/claim-rows.ts'
import { addToCount, subtractGone } from '../../database/count-rows.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { noteLogged } from '../../database/log-quota.ts'
import { isOfSubject } from '../../tenancy/members/subject-store.ts'
import type { CallContext, EvaluationContext, GateRef, KeptValues, Reader, RequestKind } from './store.ts'

const nameRow = z.object({ name: z.string() })
const decisionRow = z.object({ decision: z.string() })

const jsonb = (value: unknown) => sql.jsonb(value as never)

const closedRow = z.object({ id: z.uuid(), status: z.enum(['expired', 'cancelled']) })

/** Who would act. */
export interface RequestSubject {
  type: string
  id: string
  /** null without a proven address */
  email: string | null
  /** the id, if it is that of a member */
  accountId: string | null
}

/** Two calls, or two evaluations, with the same key are the same. The digest of an evaluation covers the subject. */
export interface RequestKey {
  kind: RequestKind
  tenantId: string
  requesterId: string
  subject: RequestSubject
  action: string
  resourceType: string
  resourceId: string | null
  digest: string
}

function same(key: RequestKey): FragmentSqlToken {
  if (key.kind === 'application')
    return sql.fragment`tenant_id = ${key.tenantId} and kind = 'application' and digest = ${key.digest}`
  return sql.fragment`
    tenant_id = ${key.tenantId} and kind = 'call' and requester_id = ${key.requesterId} and action = ${key.action}
    and resource_type = ${key.resourceType} and resource_id is not distinct from ${key.resourceId}
    and digest = ${key.digest}`
}

/** The requests about one subject: its calls, and what applications ask for it. */
function ofSubject({ tenantId, subject: { type, id, accountId } }: RequestKey): FragmentSqlToken {
  const asked = sql.fragment`kind = 'application' and subject_type = ${type} and subject_id = ${id}`
  if (accountId === null) return sql.fragment`tenant_id = ${tenantId} and ${asked}`
  return sql.fragment`tenant_id = ${tenantId} and ((kind = 'call' and requester_id = ${accountId}) or (${asked}))`
}

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

/** The pending or approved request for a key and its gates, approved ones first; or null. */
export function findOpen(
  tx: Tx,
  key: RequestKey,
  gates: readonly GateRef[],
  now: number,
): Promise<OpenRow | null> {
  return tx.maybeOne(sql.type(openRow)`
    select id, status, expires_at, execution_status is not null as is_stored from approval_requests
    where ${same(key)} and ${sameGates(gates)} and status in ('pending', 'approved') and expires_at > ${instant(now)}
    order by status, created_at, id limit 1`)
}

const rejectedRow = z.object({ id: z.uuid(), expires_at: z.number(), decided_at: z.number() })

/** The last request for a key and its gates, if it was rejected; or null. */
export const findRejected = (tx: Tx, key: RequestKey, gates: readonly GateRef[]) =>
  tx.maybeOne(sql.type(rejectedRow)`
    select id, expires_at, decided_at from (
      select id, status, expires_at, decided_at from approval_requests
      where ${same(key)} and ${sameGates(gates)} order by created_at desc, id desc limit 1) last
    where status = 'rejected'`)

const usableRow = z.object({
  id: z.uuid(),
  digest: z.string(),
  status: z.enum(['pending', 'approved']),
  gates: z.custom<GateRef[]>((value) => Array.isArray(value)),
  expires_at: z.number(),
})
export type UsableRow = z.infer<typeof usableRow>

/** The open requests of applications with these digests, approved ones first. */
export function listUsable(
  read: Read,
  tenantId: string,
  digests: readonly string[],
  now: number,
): Promise<readonly UsableRow[]> {
  return read.any(sql.type(usableRow)`
    select id, digest, status, gates, expires_at from approval_requests
    where tenant_id = ${tenantId} and kind = 'application' and digest = any(${sql.array(digests, 'text')})
      and status in ('pending', 'approved') and expires_at > ${instant(now)}
    order by status, created_at, id`)
}

/** Ends the pending request of a key if it has expired or its policies have changed; returns it, or null. */
export function retireStale(
  tx: Tx,
  key: RequestKey,
  gates: readonly GateRef[],
  now: number,
): Promise<{ id: string; status: 'expired' | 'cancelled' } | null> {
  const at = instant(now)
  return tx.maybeOne(sql.type(closedRow)`
    update approval_requests set status = case when expires_at <= ${at} then 'expired' else 'cancelled' end
    where ${same(key)} and status = 'pending' and (expires_at <= ${at} or not ${sameGates(gates)})
    returning id, status`)
}

/** How many requests of the subject are pending. */
export function countPendingOf(tx: Tx, key: RequestKey, now: number): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from approval_requests
    where ${ofSubject(key)} and status = 'pending' and expires_at > ${instant(now)}`)
}

/**
 * Serialises transactions that create requests of a subject, so that their count stays exact. For a subject that is no
 * member, those of one requester.
 */
export async function lockSubject(
  tx: Tx,
  { tenantId, requesterId, subject }: Pick<RequestKey, 'tenantId' | 'requesterId' | 'subject'>,
): Promise<void> {
  tx.later(sql.unsafe`
    select 1 from memberships m
    where m.tenant_id = ${tenantId} and ${isOfSubject(subject.accountId ?? requesterId)} for no key update`)
}

const mailedRow = z.object({ id: z.uuid(), mails: z.number(), is_same: z.boolean() })

/** Who got mail about the subject's requests since `since` (ms): how often, and whether about the same. */
export function listMailed(
  tx: Tx,
  key: RequestKey,
  since: number,
): Promise<readonly z.infer<typeof mailedRow>[]> {
  return tx.any(sql.type(mailedRow)`
    select a as id, count(*) as mails, bool_or(${same(key)}) as is_same
    from approval_requests cross join lateral unnest(mailed_to) a
    where ${ofSubject(key)} and created_at > ${instant(since)} and mailed_to <> '{}'
    group by a`)
}

/** A new request; times in ms, `validFor` in seconds. */
export interface NewRequest extends RequestKey {
  id: string
  requesterEmail: string
  context: CallContext | EvaluationContext
  /** null for a call */
  kept: KeptValues | null
  message: string
  reason: string
  gates: readonly GateRef[]
  approvers: readonly (readonly string[])[]
  quorum: number
  validFor: number
  mailedTo: readonly string[]
  at: number
  expiresAt: number
}

/** Inserts a request; false if a pending one asks the same. */
export async function insertRequest(tx: Tx, r: NewRequest): Promise<boolean> {
  noteLogged(tx, r.context, r.kept, r.message, r.gates, r.approvers)
  const { type, id, email } = r.kind === 'application' ? r.subject : noSubject
  const inserted = await tx.maybeOne(sql.type(idRow)`
    insert into approval_requests (tenant_id, id, kind, requester_id, requester_email, subject_type, subject_id,
                                   subject_email, action, resource_type, resource_id, digest, context, kept, message,
                                   reason, gates, approvers, required_approvals, valid_for, mailed_to, expires_at,
                                   created_at)
    values (${r.tenantId}, ${r.id}, ${r.kind}, ${r.requesterId}, ${r.requesterEmail}, ${type}, ${id}, ${email},
            ${r.action}, ${r.resourceType}, ${r.resourceId}, ${r.digest}, ${jsonb(r.context)},
            ${r.kept && jsonb(r.kept)}, ${r.message}, ${r.reason}, ${jsonb(r.gates)}, ${jsonb(r.approvers)},
            ${r.quorum}, ${r.validFor}, ${sql.array(r.mailedTo, 'uuid')}, ${instant(r.expiresAt)}, ${instant(r.at)})
    on conflict do nothing returning id`)
  if (inserted) addToCount(tx, r.tenantId, 'approval_requests')
  return inserted !== null
}

/** The subject of a call is its requester. */
const noSubject = { type: null, id: null, email: null }

const approver = z.object({ id: z.uuid(), email: z.string() })
export type Approver = z.infer<typeof approver>

interface Eligibility {
  /** Lists of role ids; an approver has a role of each list. */
  approvers: readonly (readonly string[])[]
  requesterId: string
  /** The subject, if it is a member. */
  accountId: string | null
  /** If given, only these users. */
  among?: readonly string[]
  limit: number
}

/**
 * Members who can approve now: active, with a role of each list, neither requester nor subject, and without having made
 * a key or a machine of the subject; at most `limit`.
 */
export function listEligible(
  tx: Tx,
  tenantId: string,
  { approvers, requesterId, accountId, among: users, limit }: Eligibility,
): Promise<readonly Approver[]> {
  const [first = []] = approvers
  const among = users ? sql.fragment`and m.user_id = any(${sql.array(users, 'uuid')})` : sql.fragment``
  return tx.any(sql.type(approver)`
    select m.user_id as id, m.email from memberships m
    where m.tenant_id = ${tenantId} and m.status = 'active' and m.is_active and m.user_id <> ${requesterId}
      and m.user_id is distinct from ${accountId}::uuid
      and not exists (select 1 from api_keys k where k.tenant_id = ${tenantId} and k.account_id = ${accountId}::uuid
                      and k.created_by = m.user_id)
      and not exists (select 1 from memberships a where a.tenant_id = ${tenantId} and a.id = ${accountId}::uuid
                      and m.user_id = any(a.machine_keepers))
      and m.id in (select mr.membership_id from membership_roles mr
                   where mr.tenant_id = ${tenantId} and mr.role_id = any(${sql.array(first, 'uuid')}))
      ${among}
      and not exists (
        select 1 from jsonb_array_elements(${jsonb(approvers)}) needed where not exists (
          select 1 from membership_roles mr
          where mr.tenant_id = ${tenantId} and mr.membership_id = m.id and needed ? mr.role_id::text))
    order by m.joined_at, m.id limit ${limit}`)
}

/** The name of the tenant, for mails. */
export function findTenantName(tx: Tx, tenantId: string): Promise<string> {
  return tx.oneFirst(sql.type(nameRow)`select name from tenants where id = ${tenantId}`)
}

/** Locks a request until the transaction ends. */
export async function lockRequest(tx: Tx, tenantId: string, id: string): Promise<void> {
  tx.later(sql.unsafe`
    select 1 from approval_requests where tenant_id = ${tenantId} and id = ${id} for update`)
}

interface NewVote {
  tenantId: string
  requestId: string
  approver: Approver
  decision: 'approve' | 'reject'
  comment: string
  at: number
}

/** Inserts a vote; false if the person has voted on this request. */
export async function insertVote(tx: Tx, v: NewVote): Promise<boolean> {
  const inserted = await tx.maybeOne(sql.type(decisionRow)`
    insert into approval_votes (tenant_id, request_id, approver_id, approver_email, decision, comment, at)
    values (${v.tenantId}, ${v.requestId}, ${v.approver.id}, ${v.approver.email}, ${v.decision}, ${v.comment},
            ${instant(v.at)})
    on conflict do nothing returning decision`)
  return inserted !== null
}

/** pending → approved, usable for `valid_for` seconds from `at` on; false if it is not pending. */
export async function markApproved(tx: Tx, tenantId: string, id: string, at: number): Promise<boolean> {
  return changesRow(
    tx,
    sql.fragment`
    update approval_requests set status = 'approved', decided_at = ${instant(at)},
                                 expires_at = to_timestamp(${at / 1_000}::float8 + valid_for)
    where tenant_id = ${tenantId} and id = ${id} and status = 'pending' and expires_at > ${instant(at)}`,
  )
}

/** pending → rejected; false if it is not pending. */
export async function markRejected(tx: Tx, tenantId: string, id: string, at: number): Promise<boolean> {
  return changesRow(
    tx,
    sql.fragment`
    update approval_requests set status = 'rejected', decided_at = ${instant(at)}
    where tenant_id = ${tenantId} and id = ${id} and status = 'pending' and expires_at > ${instant(at)}`,
  )
}

/** pending → cancelled, and for requester and subject also approved → cancelled; false if neither applies. */
export async function markCancelled(
  tx: Tx,
  { tenantId, userId }: Pick<Reader, 'tenantId' | 'userId'>,
  id: string,
  at: number,
): Promise<boolean> {
  return changesRow(
    tx,
    sql.fragment`
    update approval_requests set status = 'cancelled'
    where tenant_id = ${tenantId} and id = ${id} and expires_at > ${instant(at)}
      and (status = 'pending' or (status = 'approved' and (
        requester_id = ${userId} or (subject_id = ${userId} and subject_type in ('user', 'service_account')))))`,
  )
}

/** approved → executed, by the call with this decision; false if it is no longer approved. */
export async function markExecuted(
  tx: Tx,
  tenantId: string,
  use: { id: string; decisionId: string; at: number; httpStatus: number },
): Promise<boolean> {
  return changesRow(
    tx,
    sql.fragment`
    update approval_requests set status = 'executed', executed_at = ${instant(use.at)}, executed_decision = ${use.decisionId},
      execution_status = case when execution_status is not null then 'succeeded' end,
      execution_http_status = case when execution_status is not null then ${use.httpStatus}::integer end
    where tenant_id = ${tenantId} and id = ${use.id} and kind = 'call' and status = 'approved'
      and expires_at > ${instant(use.at)}`,
  )
}

/** approved → executed, for an operation of an application; false if it is no longer approved. */
export async function markConsumed(
  tx: Tx,
  tenantId: string,
  use: { id: string; decisionId: string; at: number; operationId: string; userId: string },
): Promise<boolean> {
  return changesRow(
    tx,
    sql.fragment`
    update approval_requests set status = 'executed', executed_at = ${instant(use.at)}, executed_decision = ${use.decisionId},
      operation_id = ${use.operationId}, consumed_by = ${use.userId}
    where tenant_id = ${tenantId} and id = ${use.id} and kind = 'application' and status = 'approved'
      and expires_at > ${instant(use.at)}`,
  )
}

async function changesRow(tx: Tx, update: FragmentSqlToken): Promise<boolean> {
  return (await tx.maybeOne(sql.type(idRow)`${update} returning id`)) !== null
}

const expiredRow = z.object({ tenant_id: z.uuid(), id: z.uuid(), was: z.enum(['pending', 'approved']) })

/** Marks at most `limit` overdue requests of all tenants as expired. Each is returned to one caller. As the worker role. */
export function expireOverdue(
  tx: Tx,
  now: number,
  limit: number,
): Promise<readonly z.infer<typeof expiredRow>[]> {
  return tx.any(sql.type(expiredRow)`
    update approval_requests r set status = 'expired'
    from (select tenant_id, id, status from approval_requests
          where status in ('pending', 'approved') and expires_at <= ${instant(now)}
          order by expires_at limit ${limit} ${skippingLocked(tx)}) overdue
    where r.tenant_id = overdue.tenant_id and r.id = overdue.id and r.status = overdue.status
    returning r.tenant_id, r.id, overdue.status as was`)
}

/** When a request of `status` not pending or approved ended. */
const endedAt = sql.fragment`coalesce(executed_at, case when status = 'rejected' then decided_at end, expires_at)`

/**
 * Removes the bodies of at most `limit` calls that ended before `before` (ms), and what applications' evaluations read;
 * returns how many. As the worker role.
 */
export async function dropBodiesBefore(tx: Tx, before: number, limit: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    update approval_requests set kept = null, context = context || case when kind = 'call' then '{"body": null}'
      else '{"properties": null, "action_properties": null, "context": null}' end::jsonb
    where (tenant_id, id) in (
      select tenant_id, id from approval_requests
      where status not in ('pending', 'approved') and (kept is not null or jsonb_typeof(context -> 'body') <> 'null')
        and ${endedAt} < ${instant(before)}
      order by ${endedAt} limit ${limit})`)
  return rowCount
}

/** Deletes at most `limit` requests that ended before `before` (ms), with their votes; returns how many. As the worker role. */
export function deleteRequestsBefore(tx: Tx, before: number, limit: number): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    with gone as (
      delete from approval_requests where (tenant_id, id) in (
        select tenant_id, id from approval_requests
        where status not in ('pending', 'approved') and ${endedAt} < ${instant(before)} order by ${endedAt} limit ${limit})
      returning tenant_id
    ), counted as (${subtractGone('approval_requests')})
    select count(*) from gone`)
}
