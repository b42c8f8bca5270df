import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { deadLink, findLink, spendLink } from '../../messages/links/one-time-link.ts'
import { markProven } from '../users/address-store.ts'
import { recordVerified } from './record-verified.ts'

/**
 * Verifies the address that the token was sent to, once. 400 `token_expired` for a token that is only too old, else 400
 * `token_invalid`, also if the person's address has changed since. Gives the id of the person.
 */
export function confirmVerification(
  { db, clock }: Deps,
  requestInfo: RequestInfo,
  token: string,
): Promise<string> {
  const at = clock()
  return asSystem(db, 'the holder of the link need not be logged in', async (tx) => {
    const link = await findLink(tx, { purpose: 'email_verification', token, at })
    await spendLink(tx, link)
    const { userId, tenantId, email } = link
    if (!(await markProven(tx, { id: userId, email, at }))) throw deadLink()
    await recordVerified(tx, { userId, email, tenantId, requestInfo, at })
    return userId
  })
}
