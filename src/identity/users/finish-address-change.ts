import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { endTokensSentElsewhere } from '../../messages/links/link-store.ts'
import { makeLink } from '../../messages/links/one-time-link.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { mailVerificationLink } from '../email-verification/send-verification.ts'
import { recordAddressChange } from './address-store.ts'

/** How long links work that undo changes made with only the password; in ms. */
export const undoMs = 3 * 86_400_000

const codesToOldMs = 86_400_000

/** A person after their address changed. */
export interface ChangedUser {
  email: string
  first_name: string
  previous_email: string
  previous_verified_at: number | null
}

/** As {@link leaveAddress}. The new address gets its verification link. */
export async function finishAddressChange(
  deps: Deps,
  tx: Tx,
  { userId, tokenTenantId: tenantId, requestInfo }: Caller,
  user: ChangedUser,
  at: number,
): Promise<void> {
  const changedAt = await leaveAddress(deps, tx, { userId, tenantId, requestInfo }, user, at)
  const origin = { how: 'changed', at: changedAt } as const
  await mailVerificationLink(deps, tx, { userId, email: user.email, origin, tenantId, requestInfo, at })
}

/**
 * Does what follows from a new address, in the transaction that sets it, and gives the time of the change. Links sent to other addresses
 * stop working. The old address, if it was verified, gets a mail with a link that undoes the change, and codes go there for another day.
 * As the system role.
 */
export async function leaveAddress(
  deps: Deps,
  tx: Tx,
  { userId, tenantId, requestInfo }: { userId: string; tenantId: string; requestInfo: RequestInfo },
  user: ChangedUser,
  at: number,
): Promise<number> {
  const { email, first_name: firstName, previous_email: from, previous_verified_at: fromVerifiedAt } = user
  const { address_since: changedAt, first_proof_at: firstProofAt } = await recordAddressChange(tx, {
    id: userId,
    from,
    fromVerifiedAt,
    at,
    codesUntil: at + codesToOldMs,
  })
  await endTokensSentElsewhere(tx, { id: userId, email, at })
  // Each change has its own target, so that using one link keeps the links of earlier changes.
  const target = { targetId: timeOrderedId(at), at: changedAt, lifeMs: undoMs }
  if (fromVerifiedAt !== null) {
    const link = { purpose: 'email_undo', userId, tenantId, email: from, firstProofAt, ...target } as const
    const undo = await makeLink(tx, deps, link)
    const variables = { firstName, newEmail: email, undo }
    const mail = { tenantId, to: from, template: 'email_changed', variables } as const
    await sendMail(tx, deps.sealer, {
      ...mail,
      requestInfo,
      at,
    })
  }
  return changedAt
}
