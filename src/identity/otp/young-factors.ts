import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { endTokens } from '../../platform/links/link-store.ts'
import { hasFreshSecondFactor } from '../sessions/fresh-authentication.ts'
import type { ShownFactor } from './accept-code.ts'
import { channelsOn } from './channels.ts'
import { couldMail, noteShown, proveDevices } from './youth-store.ts'

// A factor that was enrolled with the password alone, while codes by e-mail could have served, is young: it counts a
// day later, or once a factor that counts is shown in the sign-in that enrolled it or showed it last. The whole of it:
// docs/explanation/second-factors.md.

const dayMs = 86_400_000

/**
 * When a factor that the caller enrols at `at` begins to count, in ms since 1970; null: at once. With a temporary
 * token enrolment is open only where no other channel can serve.
 */
export async function countsFrom(
  { config }: Pick<Deps, 'config'>,
  tx: Tx,
  caller: Caller,
  at: number,
): Promise<number | null> {
  if (caller.token === 'otp_pending' || hasFreshSecondFactor(caller, at)) return null
  if (!channelsOn(config).includes('email')) return null
  return (await couldMail(tx, { userId: caller.userId, since: at - dayMs, at })) ? at + dayMs : null
}

/**
 * Follows up a factor that was accepted in this transaction: one that counts proves the young ones of its sign-in, and a
 * young one counts where the session has just shown one that does. Gives it as it counts now. As the system role.
 */
export async function weighShown(
  tx: Tx,
  caller: Caller,
  shown: ShownFactor,
  at: number,
): Promise<ShownFactor> {
  const { userId, sessionId: signInId } = caller
  const young = shown.countsFrom !== null
  if (young && shown.type === 'email') return shown
  if (young) await noteShown(tx, { userId, deviceId: shown.deviceId, signInId })
  if (young && !hasFreshSecondFactor(caller, at)) return shown
  const proven = await proveDevices(tx, { userId, signInId, at })
  for (const targetId of proven) await endTokens(tx, { purpose: 'factor_undo', userId, targetId, at })
  return { ...shown, countsFrom: null }
}
