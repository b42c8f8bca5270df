import { deleteOld } from '../db/delete-old.ts'
import { sql, type Tx } from '../db/transaction.ts'

/** The user to scrub from one tenant. `targetIds` are the ids of the user's own objects that rows can be about. */
export interface Scrubbed {
  tenantId: string
  userId: string
  email: string
  targetIds: readonly string[]
}

const identifying = ['email', 'first_name', 'last_name', 'attributes', 'name', 'slug']

/**
 * Removes a user's data from a tenant's logs: audit log, events, decisions, approvals. Only the id stays. As the worker
 * role.
 */
export async function scrubLogs(tx: Tx, { tenantId, userId, email, targetIds }: Scrubbed): Promise<void> {
  const targets = sql.array(targetIds, 'uuid')
  await tx.query(sql.unsafe`
    update audit_log set actor_email = null, ip = '', user_agent = ''
    where tenant_id = ${tenantId} and actor_id = ${userId}`)
  await tx.query(sql.unsafe`
    update audit_log set changes = changes - ${sql.array(identifying, 'text')}
    where tenant_id = ${tenantId} and target_id = any(${targets})`)
  await tx.query(sql.unsafe`
    update events set data = data || '{"email": null}'
    where tenant_id = ${tenantId} and subject = ${userId} and data ? 'email'`)
  await tx.query(sql.unsafe`
    update decisions set subject_email = null, facts = '{"cut": true}'
    where tenant_id = ${tenantId} and subject_id in (${userId}, ${email})`)
  await tx.query(sql.unsafe`
    update decisions set facts = '{"cut": true}'
    where tenant_id = ${tenantId} and resource_id = any(${targets}::text[]) and not facts ? 'cut'`)
  await tx.query(sql.unsafe`
    update approval_requests set requester_email = '', context = context || '{"body": null, "ip": ""}'
    where tenant_id = ${tenantId} and (requester_id = ${userId} or strpos(context::text, ${email}) > 0)`)
  await tx.query(sql.unsafe`
    update approval_votes set approver_email = '', comment = ''
    where tenant_id = ${tenantId} and approver_id = ${userId}`)
  await tx.query(sql.unsafe`
    update invitations set invited_by_email = '' where tenant_id = ${tenantId} and invited_by = ${userId}`)
}

/** Deletes up to `limit` audit rows older than `before` (ms since 1970); gives how many. As the worker role. */
export const deleteAuditBefore = (tx: Tx, before: number, limit: number): Promise<number> =>
  deleteOld(
    tx,
    { table: 'audit_log', column: 'at', before: sql.fragment`${sql.timestamp(new Date(before))}` },
    limit,
  )
