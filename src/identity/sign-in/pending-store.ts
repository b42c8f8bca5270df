import { z } from 'zod'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import type { Connection } from '../../request/caller.ts'

// Sign-ins that wait for a second factor.

interface NewPendingSession {
  id: string
  userId: string
  tenantId: string
  /** The session that asked to enter the tenant; null at a login, which starts one. */
  sessionId: string | null
  /** The factors that were shown (RFC 8176): the first one, or those of the chain that asked. */
  amr: readonly string[]
  authTime: number
  at: number
  expiresAt: number
  /** The absolute end of the chain that it begins; null for that of its session. */
  chainEndsAt: number | null
  /** The connection of the sign-in, or of the session; null: another way. */
  connection: Connection | null
}

/** Inserts a sign-in that waits for a second factor. As the system role. */
export async function insertPendingSession(tx: Tx, pending: NewPendingSession): Promise<void> {
  tx.later(sql.unsafe`
    insert into pending_sessions (id, user_id, tenant_id, session_id, amr, auth_time, created_at, expires_at, chain_ends_at,
                                  connection_id, confined_to)
    values (${pending.id}, ${pending.userId}, ${pending.tenantId}, ${pending.sessionId},
            ${sql.array(pending.amr, 'text')}, ${instant(pending.authTime)}, ${instant(pending.at)},
            ${instant(pending.expiresAt)}, ${instant(pending.chainEndsAt)},
            ${pending.connection?.id ?? null}, ${pending.connection?.tenantId ?? null})`)
}

const completedRow = z.object({
  tenant_id: z.uuid(),
  session_id: z.uuid().nullable(),
  amr: z.array(z.string()),
  auth_time: z.number(),
  chain_ends_at: z.number().nullable(),
})

const activeRow = z.object({ is_active: z.boolean() })

/**
 * Completes a waiting sign-in, if it is not over and its person is active. Of parallel calls only one gets the row, the
 * others null; then the caller has to roll back. As the system role.
 */
export async function completePendingSession(
  tx: Tx,
  pending: { id: string; userId: string; at: number },
): Promise<z.infer<typeof completedRow> | null> {
  const at = instant(pending.at)
  // Two statements: see the forms of src/database/forms.md.
  const [completed, isActive] = await Promise.all([
    tx.maybeOne(sql.type(completedRow)`
      update pending_sessions p set ended_at = ${at}
      where p.id = ${pending.id} and p.user_id = ${pending.userId} and p.ended_at is null and p.expires_at > ${at}
      returning p.tenant_id, p.session_id, p.amr, p.auth_time, p.chain_ends_at`),
    tx.maybeOneFirst(sql.type(activeRow)`select is_active from users where id = ${pending.userId}`),
  ])
  return isActive ? completed : null
}

/**
 * Ends the sign-ins that wait for a second factor, except the newest `kept`: those of one session, or the person's
 * logins if `sessionId` is null. As the system role.
 */
export async function endOldestPendingSessions(
  tx: Tx,
  { userId, sessionId, kept, at }: { userId: string; sessionId: string | null; kept: number; at: number },
): Promise<void> {
  tx.later(sql.unsafe`
    update pending_sessions set ended_at = ${instant(at)}
    where ended_at is null and id = any(array(
      select id from pending_sessions
      where user_id = ${userId} and session_id is not distinct from ${sessionId}::uuid and ended_at is null
      order by created_at desc, id desc offset ${kept}))`)
}

/** Ends every sign-in of a person that waits for a second factor. As the system role. */
export async function endPendingSessions(
  tx: Tx,
  { userId, at }: { userId: string; at: number },
): Promise<void> {
  const now = instant(at)
  tx.later(sql.unsafe`
    update pending_sessions set ended_at = ${now}
    where user_id = ${userId} and ended_at is null and expires_at > ${now}`)
}

/** Ends every sign-in by a connection that waits for a second factor. In the connection's tenant. */
export function endPendingSessionsBy(tx: Tx, { tenantId, id }: Connection, at: number): void {
  tx.later(sql.unsafe`
    update pending_sessions set ended_at = ${instant(at)}
    where confined_to = ${tenantId} and connection_id = ${id} and ended_at is null`)
}

/** Ends up to `limit` waiting sign-ins of the whole installation; returns how many. As the system role. */
export async function endSomePendingSessions(tx: Tx, at: number, limit: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    update pending_sessions set ended_at = ${instant(at)}
    where ended_at is null and id = any(array(select id from pending_sessions where ended_at is null limit ${limit}))`)
  return rowCount
}
