import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { endTokensSentElsewhere } from '../../platform/links/link-store.ts'
import { makeLink } from '../../platform/links/one-time-link.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { mailVerificationLink } from '../email-verification/send-verification.ts'
import { noteMove } from './address-store.ts'

/** How long the links work that take back what was done with the password alone. */
export const undoMs = 3 * 86_400_000

const heldMs = 86_400_000

interface Moved {
  email: string
  first_name: string
  previous_email: string
  previous_verified_at: number | null
}

/**
 * What follows from a new address, in the transaction that sets it: links sent elsewhere are dead, codes go on going to
 * the old one for a day where that was verified, it is told with the link that takes the change back, and the new one
 * is sent its verification link. As the system role.
 */
export async function finishAddressChange(
  deps: Deps,
  tx: Tx,
  { userId, tokenTenantId: tenantId, requestInfo }: Caller,
  user: Moved,
  at: number,
): Promise<void> {
  const { email, first_name: firstName, previous_email: from, previous_verified_at: fromVerifiedAt } = user
  const movedAt = await noteMove(tx, { id: userId, from, fromVerifiedAt, at, codesUntil: at + heldMs })
  await endTokensSentElsewhere(tx, { id: userId, email, at })
  // Each change has a target of its own, so that using one link leaves those of earlier changes alone.
  const target = { targetId: timeOrderedId(at), at: movedAt, lifeMs: undoMs }
  const undo =
    fromVerifiedAt === null
      ? undefined
      : await makeLink(tx, deps, { purpose: 'email_undo', userId, tenantId, email: from, ...target })
  const variables = { firstName, newEmail: email, ...(undo && { undo }) }
  const mail = { tenantId, to: from, template: 'email_changed', variables } as const
  await sendMail(tx, deps.sealer, { ...mail, requestId: requestInfo.requestId, at })
  const origin = { how: 'changed', at: movedAt } as const
  await mailVerificationLink(deps, tx, { userId, email, origin, tenantId, requestInfo, at })
}
