import type { Deps } from '../../deps.ts'
import { asSystem, type Tx } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import { findMailbox, type Mailbox } from '../users/address-store.ts'
import { countAttempt, secondsUntilAdmitted } from './code-store.ts'
import { listTotpSecrets, type TotpRow } from './store.ts'

interface Attempt {
  userId: string
  at: number
  /** The member of a refusal's body that says false. */
  field?: 'verified' | 'confirmed'
}

/**
 * Counts a check of a second factor against its person, in a transaction of its own, so that a later rollback gives no
 * guess back. Returns what `read` reads in it. Throws 429 `account_locked`, even if the factor is right.
 */
export async function admitAttempt<T>(
  { db, metrics }: Deps,
  { userId, at, field }: Attempt,
  read: (tx: Tx) => Promise<T>,
): Promise<T> {
  const outcome = await asSystem(db, 'the API role cannot read the secrets of factors', async (tx) =>
    (await countAttempt(tx, { userId, at }))
      ? { found: await read(tx) }
      : { wait: await secondsUntilAdmitted(tx, { userId, at }) },
  )
  if ('found' in outcome) return outcome.found as T
  metrics.limitRefused('second-factor-lock')
  throw new ApiError(429, 'account_locked', `Too many wrong codes. Try again in ${outcome.wait} s.`, {
    headers: { 'Retry-After': String(outcome.wait) },
    ...(field && { members: { [field]: false } }),
  })
}

/** {@link admitAttempt} for a code; returns what to compare it with: the TOTP devices, and the mailbox of codes. */
export const admitCode = (
  deps: Deps,
  attempt: Attempt,
): Promise<{ devices: readonly TotpRow[]; mailbox: Mailbox }> =>
  admitAttempt(deps, attempt, async (tx) => ({
    devices: await listTotpSecrets(tx, attempt.userId),
    mailbox: await findMailbox(tx, attempt.userId, attempt.at),
  }))
