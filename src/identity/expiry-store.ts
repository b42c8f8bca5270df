import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { sql, type Tx } from '../platform/db/transaction.ts'

const day = 86_400_000

type RemoveBatch = (tx: Tx, now: number, limit: number) => Promise<number>

/** Deletes at most `limit` rows, oldest first, whose time `ended` came `keep` ms ago; gives how many. */
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
        select ${columns} from ${name} where ${ended} <= ${sql.timestamp(new Date(now - keep))}
        order by ${ended} limit ${limit})`)
    return rowCount
  }

/**
 * What expires, and how it is deleted; as the worker role. Links are kept for a month, so that a late one is told
 * from a wrong one; sessions as long, with their refresh families, which go with them; counters past all windows.
 */
export const expired: Record<string, RemoveBatch> = {
  email_codes: remove('otp_email_codes', ['user_id', 'id'], sql.fragment`expires_at`, 0),
  pending_sessions: remove('pending_sessions', ['id'], sql.fragment`expires_at`, 0),
  link_tokens: remove('link_tokens', ['id'], sql.fragment`expires_at`, 30 * day),
  sessions: remove('sessions', ['id'], sql.fragment`least(ended_at, expires_at)`, 30 * day),
  otp_attempts: remove('otp_attempts', ['user_id'], sql.fragment`last_at`, day),
}

/** Deletes places that a person last signed in from before `before` (ms since 1970), at most `most`; gives how many. */
export const deletePlacesBefore: RemoveBatch = remove(
  'sign_in_places',
  ['user_id', 'address', 'device'],
  sql.fragment`last_at`,
  0,
)

const erasure = z.object({
  user_id: z.uuid(),
  email: z.string(),
  tenant_ids: z.array(z.uuid()),
  target_ids: z.array(z.uuid()),
})

/** Up to `most` people erased before `before` (ms since 1970), with every tenant they belonged to. As the worker role. */
export function listErasures(
  tx: Tx,
  before: number,
  most: number,
): Promise<readonly z.infer<typeof erasure>[]> {
  return tx.any(sql.type(erasure)`
    select e.user_id, e.email,
      array(select unnest(e.tenant_ids) union
            select a.tenant_id from audit_log a
            where a.action = 'member:delete' and a.changes #>> '{user_id,before}' = e.user_id::text) as tenant_ids,
      array(select unnest(e.target_ids) union
            select a.target_id from audit_log a
            where a.action = 'member:delete' and a.changes #>> '{user_id,before}' = e.user_id::text) as target_ids
    from erasures e where e.at < ${sql.timestamp(new Date(before))} order by e.at limit ${most}`)
}

/** Forgets a person of whom nothing is left. As the worker role. */
export async function deleteErasure(tx: Tx, userId: string): Promise<void> {
  await tx.query(sql.unsafe`delete from erasures where user_id = ${userId}`)
}
