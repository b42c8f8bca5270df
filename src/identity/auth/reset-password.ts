import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { type AuditedActor, appendAudit } from '../../messages/audit/append-audit.ts'
import { endAllTokens } from '../../messages/links/link-store.ts'
import { removeYoungFactors } from '../otp/young-factors.ts'
import { accountKey } from '../rate-limits/limits.ts'
import { clearAttempts } from '../rate-limits/store.ts'
import { holdBackMailedCodes } from '../users/address-store.ts'
import { proveByMailbox, withoutPlace } from '../users/prove-by-mailbox.ts'
import { finishPasswordChange } from './finish-password-change.ts'

const dayMs = 86_400_000

interface PasswordReset {
  person: { id: string; email: string; firstName: string }
  passwordHash: string
  /** The tenant that gets the events, the audit row and the mail. */
  tenantId: string
  /**
   * An operator vouches for the person, in place of a link that was mailed to them; or `voucher` does, for the first proof alone: an account
   * whose address was proven meanwhile stays as it is, and so do the links that undo a change of address.
   */
  bySystem?: boolean
  voucher?: AuditedActor
  requestInfo: RequestInfo
  at: number
}

/**
 * Gives a person who cannot log in a new password, in place of everything that a thief of the old one could have: sessions,
 * links and API keys end, and young factors go. Proves the address; if it was not proven yet, the account starts anew
 * ({@link proveByMailbox}). Lifts the lock of the account and mails the person. Returns whether it was the first proof; null if
 * the person has another address by now or is inactive. As the system role.
 */
export async function resetPassword(
  deps: Pick<Deps, 'sealer'>,
  tx: Tx,
  { person, passwordHash, tenantId, bySystem = false, voucher, requestInfo, at }: PasswordReset,
): Promise<{ isFirst: boolean } | null> {
  const { id: userId, email, firstName } = person
  const common = { tenantId, bySystem, voucher, requestInfo, at }
  const keepsPassword = voucher !== undefined
  const proof = await proveByMailbox(tx, { ...common, id: userId, email, passwordHash, keepsPassword })
  if (!proof) return null
  const { isFirst } = proof
  if (!isFirst && voucher) return proof
  await clearAttempts(tx, accountKey(email))
  if (!isFirst) {
    const { requestId } = requestInfo
    await removeYoungFactors(tx, userId, { tenantId, actorId: bySystem ? null : userId, requestId, at })
  }
  // An operator knows who the person is: an earlier address must not take the account back.
  if (isFirst && bySystem && !voucher) await endAllTokens(tx, userId, at)
  // The reader of the mailbox would read these codes, too.
  if (!isFirst && !bySystem) await holdBackMailedCodes(tx, { id: userId, until: at + dayMs, at })
  await appendAudit(tx, {
    tenantId,
    actor: bySystem ? (voucher ?? null) : { id: userId, email },
    requestInfo: isFirst && !bySystem ? withoutPlace(requestInfo) : requestInfo,
    action: 'password:reset',
    target: { type: 'user', id: userId },
    at,
  })
  await finishPasswordChange(deps, tx, {
    ...common,
    userId,
    firstName,
    kept: null,
    revokeKeys: true,
    ...(isFirst && { firstProof: { hasPassword: true } }),
  })
  return proof
}
