import type { Read } from '../../database/executor/read.ts'
import { keyExpired } from '../../errors.ts'
import type { Bearer } from '../../request/caller.ts'
import type { AuthContextRow } from '../sessions/context-store.ts'
import { findKeyContextRow } from './store.ts'

interface KeyContext {
  row: AuthContextRow
  scopes: readonly string[] | null
  /** ms since 1970 */
  lastUsedAt: number | null
}

/**
 * The context of a key's holder; null for a key that was revoked, of a service account that is disabled or deleted, or of
 * a person who left the tenant and joined again. Throws 401 `key_expired`. A person who only left gets the refusal of
 * their tokens. `now` is in ms since 1970.
 */
export async function findKeyContext(read: Read, bearer: Bearer, now: number): Promise<KeyContext | null> {
  const row = await findKeyContextRow(read, bearer, now)
  if (!row || row.is_revoked) return null
  const isDisabled = bearer.subjectType === 'service_account' && row.membership_status === 'suspended'
  if (isDisabled || (row.membership_id !== null && row.membership_id !== row.key_membership_id)) return null
  if (row.is_expired) throw keyExpired()
  return { row, scopes: row.scopes, lastUsedAt: row.last_used_at }
}
