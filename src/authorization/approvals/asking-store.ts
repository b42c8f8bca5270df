import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { addToCount } from '../../database/count-rows.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { noteLogged } from '../../database/log-quota.ts'
import { isOfSubject } from '../../tenancy/members/subject-store.ts'
import type { CallContext, GateRef, KeptValues, QuestionContext, RequestKind } from './store.ts'

const closedRow = z.object({ id: z.uuid(), status: z.enum(['expired', 'cancelled']) })

const jsonb = (value: unknown) => sql.jsonb(value as never)

/** Who would act. */
export interface RequestSubject {
  type: string
  id: string
  /** null without a proven address */
  email: string | null
  /** the id, if it is that of a member */
  accountId: string | null
}

/** Two calls, or two questions, with the same key are the same. The digest of a question covers the subject. */
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
  context: CallContext | QuestionContext
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
