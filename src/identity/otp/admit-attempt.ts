import type { Deps } from '../../deps.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import { findMailbox, type Mailbox } from '../users/address-store.ts'
import { countAttempt, secondsUntilAdmitted } from './code-store.ts'
import { listTotpSecrets, type TotpRow } from './store.ts'

/**
 * Counts a check of a second factor against its person, in a transaction of its own, so that a later rollback gives no
 * guess back. Returns what to compare with: the TOTP devices, and the mailbox that codes were sent to. Throws 429
 * `account_locked`, even if the code is right.
 */
export async function admitAttempt(
  { db, metrics }: Deps,
  { userId, at, field }: { userId: string; at: number; field: 'verified' | 'confirmed' },
): Promise<{ devices: readonly TotpRow[]; mailbox: Mailbox }> {
  const outcome = await asSystem(db, 'the API role cannot read the secrets of factors', async (tx) =>
    (await countAttempt(tx, { userId, at }))
      ? { devices: await listTotpSecrets(tx, userId), mailbox: await findMailbox(tx, userId, at) }
      : secondsUntilAdmitted(tx, { userId, at }),
  )
  if (typeof outcome !== 'number') return outcome
  metrics.limitRefused('second-factor-lock')
  throw new ApiError(429, 'account_locked', `Too many wrong codes. Try again in ${outcome} s.`, {
    headers: { 'Retry-After': String(outcome) },
    members: { [field]: false },
  })
}
