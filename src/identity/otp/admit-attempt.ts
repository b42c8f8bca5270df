import type { Deps } from '../../deps.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import { countAttempt, secondsUntilAdmitted } from './attempt-store.ts'
import { listTotpSecrets, type TotpRow } from './store.ts'

/**
 * Counts a check of a second factor against its person, in a transaction of its own: a roll-back later on gives no
 * guess back. Gives the TOTP devices to check against; throws 429 `account_locked`, also before a right code.
 */
export async function admitAttempt(
  { db, metrics }: Deps,
  { userId, at, field }: { userId: string; at: number; field: 'verified' | 'confirmed' },
): Promise<readonly TotpRow[]> {
  const outcome = await asSystem(db, 'the API role reads no secrets of factors', async (tx) =>
    (await countAttempt(tx, { userId, at }))
      ? listTotpSecrets(tx, userId)
      : secondsUntilAdmitted(tx, { userId, at }),
  )
  if (typeof outcome !== 'number') return outcome
  metrics.limitRefused('second-factor-lock')
  throw new ApiError(429, 'account_locked', `Too many wrong codes. Try again in ${outcome} s.`, {
    headers: { 'Retry-After': String(outcome) },
    members: { [field]: false },
  })
}
