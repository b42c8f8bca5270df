import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { deadLink, findLink, spendLink } from '../../messages/links/one-time-link.ts'
import { logErased } from '../users/erase-person.ts'
import { releaseAddress } from '../users/release-address.ts'

/**
 * Removes an address from the account that claims it, once, for the person who reads its mail and did not register;
 * {@link releaseAddress} says what happens to the account. 400 as for a confirmation, also if the address is verified by
 * now.
 */
export async function rejectVerification(deps: Deps, requestInfo: RequestInfo, token: string): Promise<void> {
  const at = deps.clock()
  const released = await asSystem(deps.db, 'the reader of the mail need not be logged in', async (tx) => {
    const link = await findLink(tx, { purpose: 'email_verification', token, at })
    await spendLink(tx, link)
    const { userId, tenantId, email } = link
    const done = await releaseAddress(tx, deps, { userId, email, tenantId, requestInfo, at })
    if (!done) throw deadLink()
    return done
  })
  logErased(deps, released)
}
