import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'

export interface NewPendingSession {
  id: string
  userId: string
  tenantId: string
  /** The session that is to enter the tenant; null where one is to begin. */
  sessionId: string | null
  authTime: number
  at: number
  expiresAt: number
}

/** Keeps a sign-in that waits for a second factor; as the system role. */
export async function insertPendingSession(tx: Tx, pending: NewPendingSession): Promise<void> {
  await tx.query(sql.unsafe`
    insert into pending_sessions (id, user_id, tenant_id, session_id, auth_time, created_at, expires_at)
    values (${pending.id}, ${pending.userId}, ${pending.tenantId}, ${pending.sessionId},
            ${sql.timestamp(new Date(pending.authTime))}, ${sql.timestamp(new Date(pending.at))},
            ${sql.timestamp(new Date(pending.expiresAt))})`)
}

const completedRow = z.object({ tenant_id: z.uuid(), session_id: z.uuid().nullable(), auth_time: z.number() })

/**
 * Uses a waiting sign-in up, if it is not over and its person is active; of any number who try, one gets the row; as
 * the system role.
 */
export function completePendingSession(
  tx: Tx,
  pending: { id: string; userId: string; at: number },
): Promise<z.infer<typeof completedRow> | null> {
  const at = sql.timestamp(new Date(pending.at))
  return tx.maybeOne(sql.type(completedRow)`
    update pending_sessions p set ended_at = ${at}
    where p.id = ${pending.id} and p.user_id = ${pending.userId} and p.ended_at is null and p.expires_at > ${at}
      and exists (select 1 from users u where u.id = p.user_id and u.is_active)
    returning p.tenant_id, p.session_id, p.auth_time`)
}

/**
 * Ends what sign-ins wait for a second factor beyond the newest `kept`: of a session that is to enter a tenant, or of a
 * person's logins where `sessionId` is null. As the system role.
 */
export async function endOldestPendingSessions(
  tx: Tx,
  { userId, sessionId, kept, at }: { userId: string; sessionId: string | null; kept: number; at: number },
): Promise<void> {
  await tx.query(sql.unsafe`
    update pending_sessions set ended_at = ${sql.timestamp(new Date(at))}
    where ended_at is null and id = any(array(
      select id from pending_sessions
      where user_id = ${userId} and session_id is not distinct from ${sessionId}::uuid and ended_at is null
      order by created_at desc, id desc offset ${kept}))`)
}

/** Ends every sign-in of a person that waits for a second factor; as the system role. */
export async function endPendingSessions(
  tx: Tx,
  { userId, at }: { userId: string; at: number },
): Promise<void> {
  const now = sql.timestamp(new Date(at))
  await tx.query(sql.unsafe`
    update pending_sessions set ended_at = ${now}
    where user_id = ${userId} and ended_at is null and expires_at > ${now}`)
}
