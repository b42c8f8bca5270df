import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { makeLink } from '../../messages/links/one-time-link.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import { mailAccountLink, type Recipient } from './mail-account-link.ts'

/** The answer, the same for every address. */
export const resetSent = 'If this address has an account, a link to reset its password was sent'

/**
 * Mails a link to choose a new password, if the address has an active account; if not, the same answer and time. 429
 * `throttled`.
 */
export async function requestPasswordReset(
  deps: Deps,
  requestInfo: RequestInfo,
  email: string,
): Promise<{ message: typeof resetSent }> {
  await mailAccountLink(deps, requestInfo, { email, purpose: 'reset' }, async (tx, recipient) => {
    const { firstName, tenantId } = recipient
    const at = deps.clock()
    const variables = { firstName, ...(await makeResetLink(tx, deps, recipient, at)) }
    const mail = { tenantId, to: email, template: 'password_reset', variables } as const
    await sendMail(tx, deps.sealer, {
      ...mail,
      requestInfo,
      at,
    })
  })
  return { message: resetSent }
}

/** A link to choose a new password, and for how many minutes it works. */
export async function makeResetLink(
  tx: Tx,
  deps: Deps,
  { userId, tenantId, email }: Recipient,
  at: number,
): Promise<{ link: string; minutes: number }> {
  const lifeMs = deps.config.PASSWORD_RESET_VALIDITY_SECONDS * 1000
  const link = await makeLink(tx, deps, { purpose: 'password_reset', userId, tenantId, email, at, lifeMs })
  return { link, minutes: Math.max(1, Math.floor(lifeMs / 60_000)) }
}
