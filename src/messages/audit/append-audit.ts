import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { deleteOld } from '../../database/delete-old.ts'
import { listsOfValues, type NewRow } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { noteLogged } from '../../database/log-quota.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import type { ActionName } from '../../policy-engine/catalogue/actions.ts'
import type { SubjectType } from '../../policy-engine/evaluate/query.ts'
import type { Caller } from '../../request/caller.ts'
import { timeOrderedId } from '../outbox/time-ordered-id.ts'

/** Actions of the catalogue, and what public routes and the service itself do. */
type AuditAction =
  | ActionName
  | 'user:register'
  | 'user:activate'
  | 'user:deactivate'
  | 'user:erase'
  | 'session:create'
  | 'session:compromise'
  | 'session:break_glass'
  | 'session:end_all'
  | 'email_verification:confirm'
  | 'email_verification:reject'
  | 'password:reset'
  | 'magic_link:confirm'
  | 'otp_device:undo'
  | 'passkey:undo'
  | 'identity:link'
  | 'identity:undo'
  | 'user:reset_factors'
  | 'profile:undo'
  | 'invitation:expire'
  | 'approval_request:request'
  | 'approval_request:execute'
  | 'approval_request:expire'
  | 'manifest:apply'
  | 'policy:switch_off'
  | 'webhook:disable'
  | 'webhook:throttle'
  | 'decision:throttle'
  | 'connection:check'
  | 'domain:check'
  | 'api_key:revoke'

/** The old and new value of each changed field. The log has only a digest of long ones. */
export type Changes = Record<string, { before: unknown; after: unknown }>

/** Who acted: a person, or a service account, which has no address. */
export interface AuditedActor {
  id: string
  email: string | null
  type?: SubjectType
}

/** One row of the audit log. `at` is in ms since 1970; `actor` is null when the service acted by itself. */
export interface AuditRow {
  tenantId: string
  actor: AuditedActor | null
  requestInfo: Pick<RequestInfo, 'requestId' | 'ip' | 'userAgent'>
  decisionId?: string
  action: AuditAction
  target: { type: string; id: string }
  changes?: Changes
  at: number
}

/**
 * Writes an audit row in the transaction of the change. Throws (a bug of ours) for a field that is named like a secret.
 */
export async function appendAudit(tx: Tx, row: AuditRow): Promise<void> {
  appendAudits(tx, [row])
}

/** The same for any number of rows, in a few statements. */
export function appendAudits(tx: Tx, rows: readonly AuditRow[]): void {
  for (const values of listsOfValues(rows.map((row) => valuesOf(tx, row))))
    tx.later(sql.unsafe`
      insert into audit_log (tenant_id, id, at, actor_type, actor_id, actor_email, action, target_type, target_id, ip,
                             user_agent, request_id, decision_id, changes) ${values}`)
}

function valuesOf(tx: Tx, row: AuditRow): NewRow {
  const { tenantId, actor, requestInfo, action, target, at } = row
  const changes = bounded(row.changes ?? {})
  for (const field of Object.keys(changes))
    if (secretName.test(field)) throw new Error(`The audit log must not hold the field ${field}`)
  noteLogged(tx, changes, requestInfo.userAgent)
  return [
    tenantId,
    timeOrderedId(at),
    new Date(at).toISOString(),
    actor ? (actor.type ?? 'user') : 'system',
    actor?.id ?? null,
    actor?.email ?? null,
    action,
    target.type,
    target.id,
    requestInfo.ip,
    requestInfo.userAgent,
    requestInfo.requestId,
    row.decisionId ?? null,
    JSON.stringify(changes),
  ]
}

const maxBytes = 4_096

/** What the audit log has of a long value: who has the value can prove that it is the one. */
export function digestOf(value: unknown): { sha256: string; bytes: number } {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return { sha256: hash('sha256', text), bytes: Buffer.byteLength(text) }
}

/** The changes, with digests in place of values of more than 4 KiB of JSON. */
function bounded(changes: Changes): Changes {
  const shorten = (value: unknown) =>
    Buffer.byteLength(JSON.stringify(value) ?? '') > maxBytes ? digestOf(value) : value
  return Object.fromEntries(
    Object.entries(changes).map(([field, { before, after }]) => [
      field,
      { before: shorten(before), after: shorten(after) },
    ]),
  )
}

const secretName = /password|secret|token|hash|sealed|codes?$|jti/i

/** The user or service account that acts in a tenant: a Caller, or a user of a mailed link. */
export interface AuditActor extends Pick<Caller, 'tenantId' | 'userId' | 'requestInfo'> {
  auth: { user: { email: string; type?: SubjectType } }
  decisionId?: string
}

/** The actor of audit rows, from a caller. */
export const actorOf = ({ userId, auth: { user } }: Pick<AuditActor, 'userId' | 'auth'>): AuditedActor => ({
  id: userId,
  email: user.email || null,
  type: user.type ?? 'user',
})

/** The fields that all audit rows of a request share. Spread them, and add action, target and changes. */
export const doneBy = ({ tenantId, userId, auth, requestInfo, decisionId }: AuditActor, at: number) => ({
  tenantId,
  actor: actorOf({ userId, auth }),
  requestInfo,
  ...(decisionId !== undefined && { decisionId }),
  at,
})

/** The fields in which two states differ. Pass null for a state in which the object does not exist. */
export function changesBetween(
  before: Record<string, unknown> | null,
  after: Record<string, unknown> | null,
): Changes {
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const changed = fields.map((field) => [field, before?.[field] ?? null, after?.[field] ?? null] as const)
  return Object.fromEntries(
    changed
      .filter(([, was, is]) => !isDeepStrictEqual(plain(was), plain(is)))
      .map(([field, was, is]) => [field, { before: was, after: is }]),
  )
}

/** Converts to plain JSON values, because rows have prototypes that differ between equal values. */
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))

/** Deletes up to `limit` audit rows older than `before` (ms since 1970); gives how many. As the worker role. */
export const deleteAuditBefore = (tx: Tx, before: number, limit: number): Promise<number> =>
  deleteOld(tx, { table: 'audit_log', column: 'at', before: sql.fragment`${instant(before)}` }, limit)
