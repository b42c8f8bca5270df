import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { skippingLocked } from '../../database/claim-rows.ts'
import { subtractGone } from '../../database/count-rows.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import type { Reader } from './store.ts'

const nameRow = z.object({ name: z.string() })
const decisionRow = z.object({ decision: z.string() })

const jsonb = (value: unknown) => sql.jsonb(value as never)

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
 * a key of the subject; at most `limit`.
 */
export function listEligible(
  tx: Tx,
  tenantId: string,
  { approvers, requesterId, accountId, among: users, limit }: Eligibility,
): Promise<readonly Approver[]> {
  const [first = []] = approvers
  const among = users ? sql.fragment`and m.user_id = any(${sql.array(users, 'uuid')})` : sql.fragment``
  return tx.any(sql.type(approver)`
    select m.user_id as id, m.email from memberships m join users u on u.id = m.user_id and u.is_active
    where m.tenant_id = ${tenantId} and m.status = 'active' and m.user_id <> ${requesterId}
      and m.user_id is distinct from ${accountId}::uuid
      and not exists (select 1 from api_keys k where k.tenant_id = ${tenantId} and k.account_id = ${accountId}::uuid
                      and k.created_by = m.user_id)
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
 * Removes the bodies of at most `limit` calls that ended before `before` (ms), and what applications' questions read;
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
