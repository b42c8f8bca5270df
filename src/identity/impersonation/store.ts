import type { Read } from '../../database/executor/read.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { type AuthContextRow, authContextWith } from '../sessions/context-store.ts'

/** The context of a member who has no session, because another member acts as them. */
export function findMemberContext(
  read: Read,
  member: { userId: string; tenantId: string },
): Promise<AuthContextRow | null> {
  const none = sql.fragment`
    select 'aal1' as acr, '{}'::text[] as amr, 'epoch'::timestamptz as auth_time,
           null::timestamptz as second_factor_at, null::timestamptz as begun_at, false as over`
  return authContextWith(read, member, none)
}

/**
 * Whether a member has entered the tenant or came by an invitation. Others were added by their id, and may not know of it.
 * What was accepted before the first proof of their address, another person can have accepted.
 */
export function hasTakenPart(
  tx: Tx,
  { userId, tenantId }: { userId: string; tenantId: string },
): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select 1 from memberships m join users u on u.id = m.user_id where m.tenant_id = ${tenantId} and m.user_id = ${userId}
      and (m.last_entered_at is not null
           or exists (select 1 from invitations i
                      where i.tenant_id = ${tenantId} and i.accepted_by = m.user_id and i.accepted_at >= m.joined_at
                        and (u.first_proof_at is null or i.accepted_at > u.first_proof_at)))`)
}
