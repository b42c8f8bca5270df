import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { makeLink } from '../../platform/links/one-time-link.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { findMailbox } from '../users/address-store.ts'
import { undoMs } from '../users/finish-address-change.ts'

interface Enrolled {
  type: 'totp' | 'static'
  id: string
  /** In ms since 1970; null: it counts. */
  countsFrom: number | null
}

/**
 * Tells a person of a factor that was enrolled, where their codes go, in the caller's transaction. Of a young one the
 * mail carries the link that removes it, if the mailbox is proven: to a stranger's it would hand out the account.
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
  const link = { purpose: 'factor_undo', userId, tenantId, email, targetId, at, lifeMs: undoMs } as const
  const undo = countsFrom !== null && proven ? await makeLink(tx, deps, link) : undefined
  const variables = { device, firstName: auth.user.firstName, ...(undo && { undo }) }
  const mail = { tenantId, to: email, template: 'second_factor_added', variables } as const
  await sendMail(tx, deps.sealer, { ...mail, requestId: requestInfo.requestId, at })
}
