import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import type { CallContext, GateRef } from './store.ts'

const moment = (ms: number) => sql.timestamp(new Date(ms))
const jsonb = (value: unknown) => sql.jsonb(value as never)

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

/** Lets one transaction at a time make requests of a person, so that what it counts is certain. */
export async function lockRequester(
  tx: Tx,
  { tenantId, requesterId }: Pick<CallKey, 'tenantId' | 'requesterId'>,
): Promise<void> {
  await tx.query(sql.unsafe`
    select from memberships where tenant_id = ${tenantId} and user_id = ${requesterId} for no key update`)
}

const mailedRow = z.object({ id: z.uuid(), mails: z.number(), same_call: z.boolean() })

/** Whom requests of a person mailed since a moment (ms): how often, and whether about this very call. */
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
  mailedTo: readonly string[]
  at: number
  expiresAt: number
}

/** Inserts a request; false where the same call has a pending one. */
export async function insertRequest(tx: Tx, r: NewRequest): Promise<boolean> {
  const inserted = await tx.maybeOne(sql.type(z.object({ id: z.uuid() }))`
    insert into approval_requests (tenant_id, id, requester_id, requester_email, action, resource_type, resource_id,
                                   digest, context, reason, gates, approvers, required_approvals, valid_for,
                                   mailed_to, expires_at, created_at)
    values (${r.tenantId}, ${r.id}, ${r.requesterId}, ${r.requesterEmail}, ${r.action}, ${r.resourceType},
            ${r.resourceId}, ${r.digest}, ${jsonb(r.context)}, ${r.reason}, ${jsonb(r.gates)}, ${jsonb(r.approvers)},
            ${r.quorum}, ${r.validFor}, ${sql.array(r.mailedTo, 'uuid')}, ${moment(r.expiresAt)}, ${moment(r.at)})
    on conflict do nothing returning id`)
  return inserted !== null
}
