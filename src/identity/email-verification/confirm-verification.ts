import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { deadLink, findLink, type PresentedLink, spendLink } from '../../messages/links/one-time-link.ts'
import { markProven } from '../users/address-store.ts'
import { canMove, moveProfile } from '../users/move-address.ts'
import { findUser, isEmailTaken, lockUser } from '../users/store.ts'
import { recordVerified } from './record-verified.ts'

/**
 * Verifies the address that the token was sent to, once. 400 `token_expired` for a token that is only too old, else 400
 * `token_invalid`, also if the person's address has changed since. One to an address that a directory gave the person gives it to their account.
 * Gives the id of the person.
 */
export function confirmVerification(deps: Deps, requestInfo: RequestInfo, token: string): Promise<string> {
  const at = deps.clock()
  return asSystem(deps.db, 'the holder of the link need not be logged in', async (tx) => {
    const link = await findLink(tx, { purpose: 'email_verification', token, at })
    await spendLink(tx, link)
    const { userId, tenantId, email, targetId } = link
    if (targetId !== null) {
      await confirmMove(deps, tx, requestInfo, link)
      return userId
    }
    if (!(await markProven(tx, { id: userId, email, at }))) throw deadLink()
    await recordVerified(tx, { userId, email, tenantId, requestInfo, at })
    return userId
  })
}

/** The new address is one that a directory gave a member. */
async function confirmMove(
  deps: Deps,
  tx: Tx,
  requestInfo: RequestInfo,
  { userId, tenantId, email, at }: PresentedLink,
): Promise<void> {
  await lockUser(tx, userId)
  const user = await findUser(tx, userId)
  if (!user?.is_active || user.email === email || !(await canMove(tx, user, { tenantId, email })))
    throw deadLink()
  const said = { tenantId, email, firstName: null, lastName: null }
  const actor = { id: userId, email: user.email }
  try {
    await moveProfile(deps, tx, user, said, { actor, requestInfo, at, canUndo: true })
  } catch (error) {
    throw isEmailTaken(error) ? deadLink() : error
  }
}
