import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { makeLink } from '../../platform/links/one-time-link.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { findMailbox } from '../users/address-store.ts'

interface Enrolled {
  type: 'passkey' | 'totp' | 'static'
  id: string
  /** In ms since 1970; null if it counts already. */
  countsFrom: number | null
}

/**
 * Mails a person about an enrolled factor, at the mailbox that their codes go to, if it is proven, in the caller's
 * transaction. For a young factor, the mail has a link that removes it, until it counts:
 * then the mailbox alone must not.
 */
export async function notifyEnrolment(
  deps: Deps,
  tx: Tx,
  caller: Caller,
  { type: device, id: targetId, countsFrom }: Enrolled,
  at: number,
): Promise<void> {
  const { userId, tokenTenantId: tenantId, requestInfo, auth } = caller
  const { address: email, proven } = await findMailbox(tx, userId, at)
  if (!proven) return
  const link = { purpose: 'factor_undo', userId, tenantId, email, targetId, at } as const
  const undo =
    countsFrom === null ? undefined : await makeLink(tx, deps, { ...link, lifeMs: countsFrom - at })
  const variables = { device, firstName: auth.user.firstName, ...(undo && { undo }) }
  const mail = { tenantId, to: email, template: 'second_factor_added', variables } as const
  await sendMail(tx, deps.sealer, { ...mail, requestId: requestInfo.requestId, at })
}
