import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'

/** How many checks are made of second factors: in a window, and in a row before all are refused for `lock`; in ms. */
export const guessing = { window: 300_000, inWindow: 5, inRow: 10, lock: 900_000 }

interface Attempt {
  userId: string
  at: number
}

const attempts = z.object({ recent: z.array(z.number()), in_a_row: z.number(), last_at: z.number() })

/**
 * Counts a check of a second factor as wrong before it is made; false, and nothing is counted, where too many were.
 * One statement: of any number at once only as many are admitted as are left. As the system role.
 */
export async function countAttempt(tx: Tx, { userId, at }: Attempt): Promise<boolean> {
  const now = sql.timestamp(new Date(at))
  const since = sql.timestamp(new Date(at - guessing.window))
  const admitted = await tx.maybeOne(sql.type(attempts)`
    insert into otp_attempts as a (user_id, recent, in_a_row, last_at) values (${userId}, array[${now}], 1, ${now})
    on conflict (user_id) do update set
      recent = array(select r from unnest(a.recent) r where r > ${since} order by r) || ${now},
      in_a_row = case when a.in_a_row >= ${guessing.inRow} then 1 else a.in_a_row + 1 end,
      last_at = ${now}
    where (a.in_a_row < ${guessing.inRow} or a.last_at <= ${sql.timestamp(new Date(at - guessing.lock))})
      and (select count(*) from unnest(a.recent) r where r > ${since}) < ${guessing.inWindow}
    returning recent, in_a_row, last_at`)
  return admitted !== null
}

/** Takes back the attempt counted at this moment, for it was right: the row of wrong ones ends, the window stays. */
export async function forgiveAttempt(tx: Tx, { userId, at }: Attempt): Promise<void> {
  const now = sql.timestamp(new Date(at))
  await tx.query(sql.unsafe`
    update otp_attempts set in_a_row = 0,
      recent = case when array_position(recent, ${now}) is null then recent
        else recent[:array_position(recent, ${now}) - 1] || recent[array_position(recent, ${now}) + 1:] end
    where user_id = ${userId}`)
}

/** Seconds until the next check is admitted, at least 1; as the system role. */
export async function secondsUntilAdmitted(tx: Tx, { userId, at }: Attempt): Promise<number> {
  const row = await tx.maybeOne(sql.type(attempts)`
    select recent, in_a_row, last_at from otp_attempts where user_id = ${userId}`)
  if (!row) return 1
  const fifthLast = row.recent.at(-guessing.inWindow) ?? 0
  const ends = [fifthLast + guessing.window, row.in_a_row >= guessing.inRow ? row.last_at + guessing.lock : 0]
  return Math.max(1, Math.ceil((Math.max(...ends) - at) / 1000))
}
