import { inTenant, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { makeLink } from '../../messages/links/one-time-link.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import type { Caller } from '../../request/caller.ts'
import { mailUses } from '../rate-limits/limits.ts'
import { findMailbox } from '../users/address-store.ts'
import { provesEnrolment } from './young-factors.ts'

/**
 * Counts the mail about a factor that the caller is about to enrol, at the mailbox that gets it. 429 `throttled`: a mail with a
 * link that removes the factor is never left out, so the factor is refused instead.
 */
export async function countEnrolment(deps: Deps, caller: Caller, at: number): Promise<void> {
  if (provesEnrolment(caller, at)) return
  const { address, proven } = await inTenant(deps.db, caller, (tx) => findMailbox(tx, caller.userId, at))
  if (proven) await deps.limiters.take(mailUses('factor', address))
}

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
  const added = { device, firstName: auth.user.firstName }
  const mail = { tenantId, to: email, requestInfo, at }
  if (countsFrom === null)
    return void (await sendMail(tx, deps.sealer, {
      ...mail,
      template: 'second_factor_added',
      variables: added,
    }))
  const link = { purpose: 'factor_undo', userId, tenantId, email, targetId, at } as const
  const undo = await makeLink(tx, deps, { ...link, lifeMs: countsFrom - at })
  await sendMail(tx, deps.sealer, { ...mail, template: 'young_factor_added', variables: { ...added, undo } })
}
