import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { findFirstTenantOf } from '../../tenancy/tenants/store.ts'
import { findMailbox, type Mailbox } from '../users/address-store.ts'
import { notifyPerson } from '../users/notify-people.ts'
import { beginNotice, countAttempt, guessing, secondsUntilAdmitted } from './code-store.ts'
import { listTotpSecrets, type TotpRow } from './store.ts'

interface Attempt {
  userId: string
  requestInfo: RequestInfo
  at: number
  /** The member of a refusal's body that says false. */
  field?: 'verified' | 'confirmed'
}

/**
 * Counts a check of a second factor against its person, in a transaction of its own, so that a later rollback gives no
 * guess back. Returns what `read` reads in it. Throws 429 `account_locked`, even if the factor is right.
 */
export async function admitAttempt<T>(
  deps: Deps,
  { userId, requestInfo, at, field }: Attempt,
  read: (tx: Tx) => Promise<T>,
): Promise<T> {
  const { db, metrics } = deps
  const outcome = await asSystem(db, 'the API role cannot read the secrets of factors', async (tx) => {
    if (await countAttempt(tx, { userId, at })) return { found: await read(tx) }
    await notifyLocked(deps, tx, { userId, requestInfo, at })
    return { wait: await secondsUntilAdmitted(tx, { userId, at }) }
  })
  if ('found' in outcome) return outcome.found as T
  metrics.limitRefused('second-factor-lock')
  throw new ApiError(429, 'account_locked', `Too many wrong codes. Try again in ${outcome.wait} s.`, {
    headers: { 'Retry-After': String(outcome.wait) },
    ...(field && { members: { [field]: false } }),
  })
}

/** Mails the person once in each pause: only who knows the password, or a passkey's id, can have used the attempts up. */
async function notifyLocked({ sealer }: Deps, tx: Tx, { userId, requestInfo, at }: Attempt): Promise<void> {
  if (!(await beginNotice(tx, { userId, at }))) return
  const tenantId = await findFirstTenantOf(tx, userId)
  if (tenantId === null) return // mails belong to a tenant
  const variables = { minutes: guessing.lock / 60_000 }
  const mail = { template: 'second_factors_locked', variables } as const
  await notifyPerson(tx, sealer, userId, { tenantId, requestInfo, at, ...mail })
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
