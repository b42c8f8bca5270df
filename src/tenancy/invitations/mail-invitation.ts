import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { linkUrl } from '../../platform/links/mailed-links.ts'
import { signature } from '../../platform/mail/free-text.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'

interface InvitationMail {
  email: string
  message: string
  tenantName: string
  token: string
  at: number
}

/** Queues the mail with the link that accepts, in the caller's transaction. Only this mail holds the token. */
export async function mailInvitation(
  deps: Deps,
  tx: Tx,
  caller: Caller,
  { email, message, tenantName, token, at }: InvitationMail,
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
    },
    requestId: requestInfo.requestId,
    at,
  })
}
