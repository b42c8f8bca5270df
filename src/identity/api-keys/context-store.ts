import type { Read } from '../../platform/db/read.ts'
import { sql } from '../../platform/db/transaction.ts'
import type { Bearer } from '../../platform/http/route.ts'
import { type AuthContextRow, authContextWith } from '../sessions/store.ts'

// A key is no sign-in: its time of authentication is 1970, so that no policy takes it for a recent one. Sessions that
// were ended in the tenant do not concern it.
const keySession = sql.fragment`
  select 'aal1' as acr, '{key}'::text[] as amr, 'epoch'::timestamptz as auth_time,
         null::timestamptz as second_factor_at, null::timestamptz as begun_at, false as over`

/** What a request needs to know about the holder of its key, in the form of that of a session; null for a deleted one. */
export function findHolderContext(
  read: Read,
  { userId, tenantId, subjectType }: Bearer,
): Promise<AuthContextRow | null> {
  const bearer = { userId, tenantId }
  if (subjectType === 'user') return authContextWith(read, bearer, keySession)
  const users = sql.fragment`(
    select a.id, a.email, a.first_name, a.last_name, null::timestamptz as email_verified_at, true as is_active,
           a.joined_at as date_joined, a.version
    from memberships a where a.tenant_id = ${tenantId} and a.kind = 'service_account')`
  return authContextWith(read, bearer, keySession, { users, membership: sql.fragment`m.id = u.id` })
}
