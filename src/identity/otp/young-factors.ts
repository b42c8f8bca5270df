import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { endTokens } from '../../messages/links/link-store.ts'
import type { Caller } from '../../request/caller.ts'
import { hasFreshSecondFactor } from '../sessions/fresh-authentication.ts'
import type { ShownFactor } from './accept-code.ts'
import { channelsOn } from './channels.ts'
import { recordRemoved } from './record-device.ts'
import { couldMail, deleteYoungDevices, hadDevice, proveDevices, recordShown } from './store.ts'

// A factor is young if it was enrolled with only the password although codes by e-mail were available. It counts after
// a day, or when a factor that counts is shown by the chain that enrolled it or last showed it. See
// docs/explanation/second-factors.md.

const dayMs = 86_400_000

/** What enrols or shows a factor: the chain of the caller's token, or the sign-in that waits. */
export const signInOf = ({ familyId, sessionId }: Caller): string => familyId ?? sessionId

/**
 * Whether a factor that the caller enrols at `at` (ms since 1970) is proved by more than the password. A caller with a
 * temporary token can enrol only if they have no other channel.
 */
export const provesEnrolment = (caller: Caller, at: number): boolean =>
  caller.token === 'otp_pending' || hasFreshSecondFactor(caller, at)

/**
 * When a factor that the caller enrols at `at` begins to count, in ms since 1970; null for at once.
 */
export async function countsFrom(
  { config }: Pick<Deps, 'config'>,
  tx: Tx,
  caller: Caller,
  at: number,
): Promise<number | null> {
  if (provesEnrolment(caller, at)) return null
  if (!channelsOn(config).includes('email')) return null
  return (await couldMail(tx, { userId: caller.userId, since: at - dayMs, at })) ? at + dayMs : null
}

/**
 * Whether a person has had a second factor for a day. One that is newer can have been enrolled by who knows the password alone,
 * where no code could be mailed. As the system role.
 */
export async function hasOldFactor(
  { config }: Pick<Deps, 'config'>,
  tx: Tx,
  userId: string,
  at: number,
): Promise<boolean> {
  const on = channelsOn(config)
  const asked = { userId, since: at - dayMs, at }
  const [byMail, byDevice] = await Promise.all([
    on.includes('email') && couldMail(tx, asked),
    hadDevice(tx, asked),
  ])
  return on.length > 0 && (byMail || byDevice)
}

/**
 * Applies the rule to a factor that this transaction accepted: a factor that counts makes the young factors of its
 * chain count, and a young factor counts if the chain has just shown one that does. Returns the factor as it counts
 * now. As the system role.
 */
export async function proveFactors(
  tx: Tx,
  caller: Caller,
  shown: ShownFactor,
  at: number,
): Promise<ShownFactor> {
  const { userId } = caller
  const signInId = signInOf(caller)
  const young = shown.countsFrom !== null
  if (young && shown.type === 'email') return shown
  if (young) await recordShown(tx, { userId, deviceId: shown.deviceId, signInId })
  if (young && !hasFreshSecondFactor(caller, at)) return shown
  const proven = await proveDevices(tx, { userId, signInId, at })
  for (const targetId of proven) await endTokens(tx, { purpose: 'factor_undo', userId, targetId, at })
  return { ...shown, countsFrom: null }
}

/** Deletes a person's young factors, with an event for each. As the system role. */
export async function removeYoungFactors(
  tx: Tx,
  userId: string,
  cause: Parameters<typeof recordRemoved>[2],
): Promise<void> {
  const { at } = cause
  await recordRemoved(tx, userId, cause, await deleteYoungDevices(tx, { userId, at }))
}
