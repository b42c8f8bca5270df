import type { Read } from '../../platform/db/read.ts'
import { sql } from '../../platform/db/transaction.ts'
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
