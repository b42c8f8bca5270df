import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { linkUrl } from '../../messages/links/mailed-links.ts'
import { signature } from '../../messages/mail/free-text.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import type { Joiner } from '../members/add-member.ts'

interface InvitationMail {
  email: string
  message: string
  tenantName: string
  token: string
  expiresAt: number
  at: number
}

/** Queues the mail with the link that accepts, in the caller's transaction. Only this mail holds the token. */
export async function mailInvitation(
  deps: Deps,
  tx: Tx,
  caller: Joiner,
  { email, message, tenantName, token, expiresAt, at }: InvitationMail,
): Promise<void> {
  const { tenantId, requestInfo, auth } = caller

  await sendMail(tx, deps.sealer, {
    tenantId,
    to: email,
    template: 'invitation',
    variables: {
      link: linkUrl(deps, 'invitation', token),
      tenantName,
      inviter: signature(auth.user),
      message,
      expiresAt,
    },
    requestInfo,
    at,
  })
}
