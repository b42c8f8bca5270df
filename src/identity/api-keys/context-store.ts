import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import type { Bearer } from '../../request/caller.ts'
import { authContextRow, persons, readContext } from '../sessions/context-store.ts'

const keyContextRow = authContextRow.extend({
  key_membership_id: z.uuid(),
  is_revoked: z.boolean(),
  is_expired: z.boolean(),
  scopes: z.array(z.string()).nullable(),
  last_used_at: z.number().nullable(),
})

export type KeyContextRow = z.infer<typeof keyContextRow>

/**
 * What a request needs to know about its key and the key's holder, in one round trip; null if one of them is deleted. A key is
 * no sign-in: its time of authentication is 1970, so that no policy takes it for a recent one. Sessions that were ended in
 * the tenant do not concern it. `now` is in ms since 1970.
 */
export function findKeyContextRow(
  read: Read,
  { userId, tenantId, subjectType, sessionId: id }: Bearer,
  now: number,
): Promise<KeyContextRow | null> {
  const key = sql.fragment`
    select 'aal1' as acr, '{key}'::text[] as amr, 'epoch'::timestamptz as auth_time,
           null::timestamptz as second_factor_at, null::timestamptz as begun_at, false as over,
           membership_id, revoked_at is not null as is_revoked, expires_at <= ${instant(now)} as is_expired,
           scopes, last_used_at
    from api_keys where tenant_id = ${tenantId} and id = ${id}`
  const accounts = {
    users: sql.fragment`(
      select a.id, a.email, a.first_name, a.last_name, null::timestamptz as email_verified_at, true as is_active,
             a.joined_at as date_joined, a.version
      from memberships a where a.tenant_id = ${tenantId} and a.kind = 'service_account')`,
    memberColumn: sql.fragment`m.id`,
    hasFactor: () => sql.fragment`false`,
  }
  const holder = subjectType === 'user' ? persons : accounts
  const more = sql.fragment`,
    s.membership_id as key_membership_id, s.is_revoked, s.is_expired, s.scopes, s.last_used_at`
  return readContext(read, keyContextRow, { userId, tenantId }, { ...holder, session: key, more })
}
