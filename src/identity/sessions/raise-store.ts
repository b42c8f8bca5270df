import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'

const raisedRow = z.object({
  id: z.uuid(),
  created_at: z.number(),
  acr: z.enum(['aal1', 'aal2']),
  amr: z.array(z.string()),
  auth_time: z.number(),
  expires_at: z.number(),
})

/** Notes that a live session showed a second factor; gives it as it is then, null where it is over; as the system role. */
export function raiseSession(
  tx: Tx,
  session: { id: string; userId: string; kind: string; at: number },
): Promise<z.infer<typeof raisedRow> | null> {
  const at = sql.timestamp(new Date(session.at))
  return tx.maybeOne(sql.type(raisedRow)`
    update sessions set acr = 'aal2', second_factor_at = ${at}, last_used_at = ${at},
      amr = array_remove(array_remove(amr, 'mfa'), ${session.kind}::text) || array[${session.kind}::text, 'mfa']
    where id = ${session.id} and user_id = ${session.userId} and ended_at is null and expires_at > ${at}
    returning id, created_at, acr, amr, auth_time, expires_at`)
}

/** Notes that a live session showed a factor that does not count: it is not raised. Else as {@link raiseSession}. */
export function noteFactor(
  tx: Tx,
  session: { id: string; userId: string; kind: string; at: number },
): Promise<z.infer<typeof raisedRow> | null> {
  const at = sql.timestamp(new Date(session.at))
  return tx.maybeOne(sql.type(raisedRow)`
    update sessions set last_used_at = ${at},
      amr = case when ${session.kind}::text = any(amr) then amr else amr || ${session.kind}::text end
    where id = ${session.id} and user_id = ${session.userId} and ended_at is null and expires_at > ${at}
    returning id, created_at, acr, amr, auth_time, expires_at`)
}
