import type { Deps } from '../../deps.ts'
import { hashOneTimeToken } from '../../platform/crypto/one-time-token.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Origin } from '../../platform/http/origin.ts'
import { markEmailVerified } from '../users/store.ts'
import { consumeLinkToken, isExpiredLinkToken } from './store.ts'
import { tellVerified } from './tell-verified.ts'

/** 400 `token_invalid`: a link out of a mail that does nothing any more. */
export const deadLink = () =>
  new ApiError(400, 'token_invalid', 'This link is not valid: it was used, replaced, or never was one.')
/** 400 `token_expired`: one that is merely too old. */
export const expiredLink = () => new ApiError(400, 'token_expired', 'This link has expired. Ask for another.')

/**
 * Verifies the address to which the token was sent, once. 400 `token_expired` for one that is only too old, else
 * 400 `token_invalid`, also when the person's address has changed since.
 */
export async function confirmVerification(
  { db, clock }: Deps,
  origin: Origin,
  token: string,
): Promise<{ message: 'Email verified' }> {
  const at = clock()
  const presented = { hash: hashOneTimeToken(token), purpose: 'email_verification', at } as const
  await asSystem(db, 'whoever opens the link need not be logged in', async (tx) => {
    const consumed = await consumeLinkToken(tx, presented)
    if (!consumed) throw (await isExpiredLinkToken(tx, presented)) ? expiredLink() : deadLink()
    const { user_id: userId, tenant_id: tenantId, email } = consumed
    if (!(await markEmailVerified(tx, { id: userId, email, at }))) throw deadLink()
    await tellVerified(tx, { userId, email, tenantId, origin, at })
  })
  return { message: 'Email verified' }
}
