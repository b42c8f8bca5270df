import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Mailbox } from '../users/address-store.ts'
import type { CodeType, DeviceType, PresentedCode } from './channels.ts'
import { matchingDevices, type TotpMatch } from './check-totp.ts'
import { consumeEmailCode, consumeRecoveryCode } from './code-store.ts'
import { emailCodeHashes, recoveryCodeHashes } from './codes.ts'
import { spendTotpStep, type TotpRow } from './store.ts'

/** A second factor that the person has just shown. */
export interface ShownFactor {
  type: DeviceType
  deviceId: string
  /** When it begins to count, in ms since 1970; null if it counts already. */
  countsFrom: number | null
}

/** What a code is compared with. It is computed before the transaction that uses the code up. */
export interface Comparison {
  userId: string
  /** The session or waiting sign-in that shows the code. */
  signInId: string
  at: number
  /** When codes by e-mail begin to count; they count already if this is null or past. */
  mailedCountFrom: number | null
  totp: readonly TotpMatch[]
  email: readonly Buffer[]
  recovery: readonly Buffer[]
}

/** Does the part that needs no database: opens secrets and computes hashes, for the given channels only. */
export function compareCode(
  deps: Deps,
  person: { userId: string; signInId: string; mailbox: Mailbox; at: number },
  { digits, recovery }: PresentedCode,
  channels: readonly CodeType[],
  devices: readonly TotpRow[],
): Comparison {
  const { userId, signInId, mailbox, at } = person
  const holder = { userId, email: mailbox.address }
  const of = <T>(type: CodeType, code: string | null, hits: (code: string) => T[]): T[] =>
    code !== null && channels.includes(type) ? hits(code) : []
  const confirmed = devices.filter((device) => device.confirmed)
  return {
    userId,
    signInId,
    at,
    mailedCountFrom: mailbox.codes_count_from,
    totp: of('totp', digits, (code) => matchingDevices(deps, { userId, code, at }, confirmed)),
    email: of('email', digits, (code) => emailCodeHashes(deps.sealer, holder, code)),
    recovery: of('static', recovery, (code) => recoveryCodeHashes(deps.sealer, userId, code)),
  }
}

/** Uses a code up at the first device that accepts it: TOTP, e-mail, recovery codes. Null if none does. As the system role. */
export async function acceptCode(tx: Tx, comparison: Comparison): Promise<ShownFactor | null> {
  const { userId, signInId, at, totp, email, recovery } = comparison
  const unlessPast = (ms: number | null) => (ms !== null && ms > at ? ms : null)
  for (const match of totp) {
    const used = await spendTotpStep(tx, { userId, at, ...match })
    if (used) return { type: 'totp', deviceId: match.id, countsFrom: unlessPast(used.counts_from) }
  }
  const byMail = email.length > 0 ? await consumeEmailCode(tx, { userId, signInId, at, hashes: email }) : null
  if (byMail) return { type: 'email', deviceId: byMail, countsFrom: unlessPast(comparison.mailedCountFrom) }
  const set = recovery.length > 0 ? await consumeRecoveryCode(tx, { userId, at, hashes: recovery }) : null
  return set ? { type: 'static', deviceId: set.id, countsFrom: unlessPast(set.counts_from) } : null
}
