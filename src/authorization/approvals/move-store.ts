import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import type { Approver } from './approver-store.ts'
import type { Reader } from './store.ts'

const moment = (ms: number) => sql.timestamp(new Date(ms))

/** Waits for whoever moves the request, and lets nobody until the transaction ends. */
export async function lockRequest(tx: Tx, tenantId: string, id: string): Promise<void> {
  await tx.query(sql.unsafe`
    select from approval_requests where tenant_id = ${tenantId} and id = ${id} for update`)
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

const expiredRow = z.object({ tenant_id: z.uuid(), id: z.uuid(), was: z.enum(['pending', 'approved']) })

/** Writes down at most `most` expiries of all tenants; gives the requests, each to one caller; as the worker role. */
export function expireOverdue(
  tx: Tx,
  now: number,
  most: number,
): Promise<readonly z.infer<typeof expiredRow>[]> {
  return tx.any(sql.type(expiredRow)`
    update approval_requests r set status = 'expired'
    from (select tenant_id, id, status from approval_requests
          where status in ('pending', 'approved') and expires_at <= ${moment(now)}
          order by expires_at limit ${most} for update of approval_requests skip locked) overdue
    where r.tenant_id = overdue.tenant_id and r.id = overdue.id and r.status = overdue.status
    returning r.tenant_id, r.id, overdue.status as was`)
}

/** Drops the bodies of calls whose request ended before `before` (ms since 1970), of `most` requests; gives how many. As the worker role. */
export async function dropBodiesBefore(tx: Tx, before: number, most: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    update approval_requests set context = context || '{"body": null}'
    where (tenant_id, id) in (
      select tenant_id, id from approval_requests
      where status not in ('pending', 'approved') and jsonb_typeof(context -> 'body') <> 'null'
        and coalesce(executed_at, case when status = 'rejected' then decided_at end, expires_at) < ${moment(before)}
      order by coalesce(executed_at, case when status = 'rejected' then decided_at end, expires_at) limit ${most})`)
  return rowCount
}
