import type { Deps } from '../../deps.ts'
import { appendAudit } from '../../platform/audit/append-audit.ts'
import { hashOneTimeToken } from '../../platform/crypto/one-time-token.ts'
import { asSystem, type Tx } from '../../platform/db/transaction.ts'
import type { Origin } from '../../platform/http/origin.ts'
import { deadLink, expiredLink } from '../email-verification/confirm-verification.ts'
import { consumeLinkToken, findLinkToken, isExpiredLinkToken } from '../email-verification/store.ts'
import { tellVerified } from '../email-verification/tell-verified.ts'
import { accountKey } from '../guards/limits.ts'
import { clearAttempts } from '../guards/store.ts'
import { resetPassword } from '../users/store.ts'
import { refuseWeakPassword } from './password-policy.ts'
import { settleNewPassword } from './settle-new-password.ts'

interface Presented {
  hash: Buffer
  purpose: 'password_reset'
  at: number
}

/**
 * Sets the password of whoever holds the token, once: all sessions end, the address is verified, its lock is lifted,
 * and nobody is logged in by it, for a second factor stays due. 400 `token_expired` for a token that is only too old,
 * else `token_invalid`, and 400 on `password` for a weak one, which uses nothing up.
 */
export async function confirmPasswordReset(
  deps: Deps,
  origin: Origin,
  body: { token: string; password: string },
): Promise<{ message: 'Password changed' }> {
  const presented: Presented = {
    hash: hashOneTimeToken(body.token),
    purpose: 'password_reset',
    at: deps.clock(),
  }
  const person = await asSystem(deps.db, 'whoever opens the link is not logged in', async (tx) => {
    const found = await findLinkToken(tx, presented)
    if (!found) throw await refusal(tx, presented)
    return { id: found.user_id, email: found.email, firstName: found.first_name, lastName: found.last_name }
  })
  refuseWeakPassword('password', body.password, person)
  const passwordHash = await deps.passwords.hash(body.password)
  await asSystem(deps.db, 'whoever opens the link is not logged in', (tx) =>
    useToken(deps, tx, presented, { ...person, passwordHash }, origin),
  )
  return { message: 'Password changed' }
}

const refusal = async (tx: Tx, presented: Presented) =>
  (await isExpiredLinkToken(tx, presented)) ? expiredLink() : deadLink()

async function useToken(
  deps: Deps,
  tx: Tx,
  presented: Presented,
  person: { id: string; email: string; firstName: string; passwordHash: string },
  origin: Origin,
): Promise<void> {
  const { at } = presented
  const { id: userId, email, firstName } = person
  const consumed = await consumeLinkToken(tx, presented)
  const reset = consumed && (await resetPassword(tx, { ...person, at }))
  if (!consumed || !reset) throw deadLink()
  const { tenant_id: tenantId } = consumed
  await clearAttempts(tx, accountKey(email))
  if (reset.verified_now) await tellVerified(tx, { userId, email, tenantId, origin, at })
  await appendAudit(tx, {
    tenantId,
    actor: { id: userId, email },
    origin,
    action: 'password:reset',
    target: { type: 'user', id: userId },
    at,
  })
  await settleNewPassword(deps, tx, { userId, email, firstName, tenantId, keepSession: null, origin, at })
}
