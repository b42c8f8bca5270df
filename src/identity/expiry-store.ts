import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { sql, type Tx } from '../database/executor/transaction.ts'
import { instant } from '../database/instant.ts'

const day = 86_400_000

type RemoveBatch = (tx: Tx, now: number, limit: number) => Promise<number>

/** Deletes at most `limit` rows, oldest first, whose time `ended` passed at least `keep` ms ago; returns how many. */
const remove =
  (table: string, key: string[], ended: FragmentSqlToken, keep: number): RemoveBatch =>
  async (tx, now, limit) => {
    const name = sql.identifier([table])
    const columns = sql.join(
      key.map((column) => sql.identifier([column])),
      sql.fragment`, `,
    )
    const { rowCount } = await tx.query(sql.unsafe`
      delete from ${name} where (${columns}) in (
        select ${columns} from ${name} where ${ended} <= ${instant(now - keep)}
        order by ${ended} limit ${limit})`)
    return rowCount
  }

/**
 * Deletes expired rows, by kind. Links and API keys are kept for a month, to distinguish an expired one from a wrong one; sessions
 * too, and their refresh families are deleted with them; counters until all windows have ended. As the worker role.
 */
export const expired: Record<string, RemoveBatch> = {
  email_codes: remove('otp_email_codes', ['user_id', 'id'], sql.fragment`expires_at`, 0),
  passkey_challenges: remove('passkey_challenges', ['challenge'], sql.fragment`expires_at`, 0),
  pending_sessions: remove('pending_sessions', ['id'], sql.fragment`expires_at`, 0),
  browser_sessions: remove('browser_sessions', ['id'], sql.fragment`expires_at`, 0),
  federation_flows: remove('federation_flows', ['id'], sql.fragment`expires_at`, 0),
  oauth_models: remove('oauth_models', ['id_hash'], sql.fragment`expires_at`, 0),
  link_tokens: remove('link_tokens', ['id'], sql.fragment`expires_at`, 30 * day),
  api_keys: remove('api_keys', ['tenant_id', 'id'], sql.fragment`least(revoked_at, expires_at)`, 30 * day),
  sessions: remove('sessions', ['id'], sql.fragment`least(ended_at, expires_at)`, 30 * day),
  otp_attempts: remove('otp_attempts', ['user_id'], sql.fragment`last_at`, day),
}

/** Deletes at most `limit` sign-in places last used before a time (ms since 1970); returns how many. */
export const deletePlacesBefore: RemoveBatch = remove(
  'sign_in_places',
  ['user_id', 'address', 'device'],
  sql.fragment`last_at`,
  0,
)

const erasure = z.object({
  user_id: z.uuid(),
  emails: z.array(z.string()),
  tenant_ids: z.array(z.uuid()),
  target_ids: z.array(z.uuid()),
})

/** Up to `max` people erased before `before` (ms since 1970), with every tenant they belonged to. As the worker role. */
export async function listErasures(
  tx: Tx,
  before: number,
  max: number,
): Promise<readonly z.infer<typeof erasure>[]> {
  const erased = await tx.any(sql.type(erasure)`
    select user_id, coalesce(emails, array[email]) as emails, tenant_ids, target_ids from erasures
    where at < ${instant(before)} order by at limit ${max}`)
  if (erased.length === 0) return []
  const ids = sql.array(
    erased.map(({ user_id }) => user_id),
    'text',
  )
  const left = await tx.any(sql.type(departure)`
    select changes #>> '{user_id,before}' as user_id, tenant_id, target_id from audit_log
    where action = 'member:delete' and changes #>> '{user_id,before}' = any(${ids})`)
  return erased.map((one) => {
    const of = left.filter(({ user_id }) => user_id === one.user_id)
    return {
      ...one,
      tenant_ids: [...new Set([...one.tenant_ids, ...of.map(({ tenant_id }) => tenant_id)])],
      target_ids: [...new Set([...one.target_ids, ...of.map(({ target_id }) => target_id)])],
    }
  })
}

const departure = z.object({ user_id: z.string(), tenant_id: z.uuid(), target_id: z.string() })

/** Deletes the record of an erasure that is complete. As the worker role. */
export async function deleteErasure(tx: Tx, userId: string): Promise<void> {
  tx.later(sql.unsafe`delete from erasures where user_id = ${userId}`)
}
