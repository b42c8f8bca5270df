import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import type { Sealer } from '../../crypto/seal.ts'
import { countRows } from '../../database/count-rows.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { noteLogged } from '../../database/log-quota.ts'
import { byId, byText, byWord, defineList, type ListPage } from '../../lists/list.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import type { Caller } from '../../request/caller.ts'
import type { StoredCall } from '../../request/change/approvals.ts'

// pending → approved → executed; pending → rejected; pending or approved → cancelled or expired. Each transition is one
// conditional statement, which finds no row if another transition came first. Every read computes expiry from
// expires_at, so it does not depend on when the expiry job runs. A request is about a call of this service, or about a
// evaluation of an application. Its subject is who would act: of a call the requester, of an evaluation perhaps one of a kind
// that the application alone knows.

export const kinds = ['call', 'application'] as const
export type RequestKind = (typeof kinds)[number]

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

/** The gates that a decision names. */
export const gatesOf = ({ matched }: Pick<Decision, 'matched'>): GateRef[] =>
  matched.map(({ policy_id, version }) => ({ policy_id, version }))

/** The waiting call as approvers see it. */
export interface CallContext {
  method: string
  path: string
  body: unknown
  ip: string
  request_id: string
  decision_id: string
}

type Values = Record<string, unknown>

/** What the gates read of an evaluation's resource, action and context, as approvers see it. Null once it is deleted. */
export interface EvaluationContext {
  properties: Values | null
  /** absent if the gates read nothing of the action */
  action_properties?: Values | null
  context: Values | null
  decision_id: string
}

/** What the other policies read of an evaluation, as it was sent. */
export type KeptValues = Record<'subject' | 'resource' | 'action' | 'environment', Values>

const object = <T>() => z.custom<T>((value) => typeof value === 'object' && value !== null)

const requestRow = z.object({
  id: z.uuid(),
  kind: z.enum(kinds),
  status: z.enum(statuses),
  requester_id: z.uuid(),
  requester_email: z.string(),
  subject_type: z.string(),
  subject_id: z.string(),
  subject_email: z.string().nullable(),
  /** The subject, if it is a member: a person or a service account. */
  account_id: z.uuid().nullable(),
  /** Who made keys of the subject: they can act as the service account, so they must not decide. */
  account_keepers: z.array(z.uuid()),
  action: z.string(),
  resource_type: z.string(),
  resource_id: z.string().nullable(),
  digest: z.string(),
  context: object<CallContext | EvaluationContext>(),
  /** null for a call, and once it is deleted */
  kept: object<KeptValues>().nullable(),
  message: z.string(),
  reason: z.string(),
  gates: listOf<GateRef>(),
  approvers: listOf<string[]>(),
  required_approvals: z.number(),
  votes: z.array(vote),
  expires_at: z.number(),
  decided_at: z.number().nullable(),
  executed_at: z.number().nullable(),
  operation_id: z.string().nullable(),
  consumed_by: z.uuid().nullable(),
  execution_status: z.enum(['pending', 'succeeded', 'failed']).nullable(),
  execution_http_status: z.number().nullable(),
  execution_problem: z.record(z.string(), z.unknown()).nullable(),
  created_at: z.number(),
})

export type RequestRow = z.infer<typeof requestRow>

/** The requests of a tenant, each with its status at `now` (ms). */
const requests = (tenantId: string, now: number) => sql.fragment`(
  select r.tenant_id, r.id, r.kind, r.requester_id, r.requester_email, r.subject_type, r.subject_id, r.subject_email,
         r.action, r.resource_type, r.resource_id, r.digest, r.context, r.kept, r.message, r.reason, r.gates,
         r.approvers, r.required_approvals, r.expires_at, r.decided_at, r.executed_at, r.operation_id, r.consumed_by,
         r.execution_status, r.execution_http_status, r.execution_problem, r.created_at, r.status as stored_status,
         case when r.kind = 'call' then r.requester_id
              when r.subject_type in ('user', 'service_account') then nullif(r.subject_id, '')::uuid end as account_id,
         case when r.status in ('pending', 'approved') and r.expires_at <= ${instant(now)} then 'expired'
              else r.status end as status
  from approval_requests r where r.tenant_id = ${tenantId})`

const columns = sql.fragment`
  r.id, r.kind, r.status, r.requester_id, r.requester_email, r.account_id,
  coalesce(r.subject_type, (select m.kind from memberships m
                            where m.tenant_id = r.tenant_id and m.id = r.requester_id), 'user') as subject_type,
  coalesce(r.subject_id, r.requester_id::text) as subject_id,
  case when r.kind = 'call' then nullif(r.requester_email, '') else r.subject_email end as subject_email,
  r.action, r.resource_type, r.resource_id, r.digest, r.context, r.kept, r.message, r.reason, r.gates, r.approvers,
  r.required_approvals, r.expires_at, r.decided_at, r.executed_at, r.operation_id, r.consumed_by,
  r.execution_status, r.execution_http_status, r.execution_problem, r.created_at,
  array(select distinct k.created_by from api_keys k
        where k.tenant_id = r.tenant_id and k.account_id = r.account_id) || coalesce((
    select a.machine_keepers from memberships a where a.tenant_id = r.tenant_id and a.id = r.account_id), '{}') as account_keepers,
  (select coalesce(jsonb_agg(jsonb_build_object(
            'approver', jsonb_build_object('id', v.approver_id, 'email', v.approver_email),
            'decision', v.decision, 'comment', v.comment, 'at', floor(extract(epoch from v.at) * 1000))
          order by v.at, v.approver_id), '[]')
   from approval_votes v where v.tenant_id = r.tenant_id and v.request_id = r.id) as votes`

/** The condition for a status at `now`, on the stored column: no index finds the computed one. */
function hasStatus(status: Status, now: number): FragmentSqlToken {
  const overdue = sql.fragment`r.expires_at <= ${instant(now)}`
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

export const readerOf = ({
  tenantId,
  userId,
  auth,
}: Pick<Caller, 'tenantId' | 'userId' | 'auth'>): Reader => ({
  tenantId,
  userId,
  roleIds: auth.membership?.roleIds ?? [],
})

// The reader has a role of each list, is neither requester nor subject, and made no key and no machine of the subject.
const decidable = ({ userId, roleIds }: Reader) => sql.fragment`
  r.requester_id <> ${userId} and r.account_id is distinct from ${userId} and not exists (
    select 1 from api_keys k
    where k.tenant_id = r.tenant_id and k.account_id = r.account_id and k.created_by = ${userId})
  and ${userId} <> all(coalesce((
    select a.machine_keepers from memberships a where a.tenant_id = r.tenant_id and a.id = r.account_id), '{}'))
  and not exists (
    select 1 from jsonb_array_elements(r.approvers) needed
    where not needed ?| ${sql.array(roleIds, 'text')})`

/** `own`: the reader's requests and those that they can decide. `pending`: those that they can decide now. */
export type View = 'all' | 'own' | 'pending'

function visible(view: View, reader: Reader, now: number): FragmentSqlToken {
  if (view === 'all') return sql.fragment``
  if (view === 'own')
    return sql.fragment`
      and (r.requester_id = ${reader.userId} or r.account_id = ${reader.userId} or (${decidable(reader)}))`
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

/** Whether the member asks, or would act: both can read and cancel the request, and neither decides it. */
export const isParty = (
  { requester_id, account_id }: Pick<RequestRow, 'requester_id' | 'account_id'>,
  userId: string,
): boolean => requester_id === userId || account_id === userId

/** Whether the person is a party, or can sign in as the service account that would act. */
export const isOwnRequest = (request: RequestRow, userId: string): boolean =>
  isParty(request, userId) || request.account_keepers.includes(userId)

/** Whether the reader has the roles to decide the request and it is not their own. As {@link decidable}. */
export const canDecide = (request: RequestRow, { userId, roleIds }: Reader): boolean =>
  !isOwnRequest(request, userId) &&
  request.approvers.every((needed) => needed.some((role) => roleIds.includes(role)))

const contextOf = (tenantId: string, id: string) => `${tenantId}.${id}`

interface NewStoredCall {
  tenantId: string
  /** of the approval request */
  id: string
  call: StoredCall
  at: number
}

/** Stores the call of a pending request, for a worker to carry out. False if the request is no longer pending. */
export async function storeCall(
  tx: Tx,
  sealer: Sealer,
  { tenantId, id, call, at }: NewStoredCall,
): Promise<boolean> {
  const marked = await tx.maybeOne(sql.type(idRow)`
    update approval_requests set execution_status = 'pending'
    where tenant_id = ${tenantId} and id = ${id} and status = 'pending' returning id`)
  if (!marked) return false
  const sealed = sealer.seal('stored-call', JSON.stringify(call), contextOf(tenantId, id))
  noteLogged(tx, sealed)
  tx.later(sql.unsafe`
    insert into stored_calls (tenant_id, id, call_sealed, created_at)
    values (${tenantId}, ${id}, ${sql.binary(sealed)}, ${instant(at)})
    on conflict do nothing`)
  return true
}

const storedRow = z.object({ call_sealed: z.instanceof(Buffer), created_at: z.number() })

/** The stored call of a request, or null. */
export async function findStoredCall(
  read: Read,
  sealer: Sealer,
  { tenantId, id }: Pick<NewStoredCall, 'tenantId' | 'id'>,
): Promise<StoredCall | null> {
  const row = await read.maybeOne(sql.type(storedRow)`
    select call_sealed, created_at from stored_calls where tenant_id = ${tenantId} and id = ${id}`)
  if (!row) return null
  // A call that was stored again for another approval keeps the time when it was first stored.
  const call: StoredCall = JSON.parse(sealer.open('stored-call', row.call_sealed, contextOf(tenantId, id)))
  return { storedAt: row.created_at, ...call }
}

/** Deletes the stored call of a request that ends, if there is one. */
export async function deleteStoredCall(tx: Tx, tenantId: string, id: string): Promise<void> {
  tx.later(sql.unsafe`delete from stored_calls where tenant_id = ${tenantId} and id = ${id}`)
}

/** approved → executed, because the stored call failed; false if it was carried out, or is no longer approved. */
export async function markFailed(
  tx: Tx,
  tenantId: string,
  failed: {
    id: string
    decisionId: string
    at: number
    problem: Record<string, unknown>
    httpStatus: number
  },
): Promise<boolean> {
  const at = instant(failed.at)
  const row = await tx.maybeOne(sql.type(idRow)`
    update approval_requests set status = 'executed', executed_at = ${at}, executed_decision = ${failed.decisionId},
      execution_status = 'failed', execution_http_status = ${failed.httpStatus},
      execution_problem = ${sql.jsonb(failed.problem as never)}
    where tenant_id = ${tenantId} and id = ${failed.id} and status = 'approved' and execution_status = 'pending'
      and expires_at > ${at}
    returning id`)
  return row !== null
}
