import { randomBytes } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { endOldTokens } from '../../messages/links/link-store.ts'
import { linkUrl } from '../../messages/links/mailed-links.ts'
import { makeLinkToken } from '../../messages/links/one-time-link.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import { mailAccountLink } from '../auth/mail-account-link.ts'
import { channelDisabled } from '../otp/channels.ts'
import { lockUser } from '../users/store.ts'

/** The answer, the same for every address. */
export const magicLinkSent = 'If this address has an account, a link to sign in was sent'

const minutes = 15

/** A stranger who asks for links must not end the one that the person is about to open. */
const maxLive = 3

/** Throws 403 `channel_disabled` unless the settings switch links to log in on. */
export function assertMagicLinksOn({ config }: Pick<Deps, 'config'>): void {
  if (!config.MAGIC_LINK_ENABLED) throw channelDisabled()
}

/** What the client that asked has to send with the token. The mail does not contain it, and cannot be used without it. */
export const noncesOf = ({ sealer }: Pick<Deps, 'sealer'>, token: string): Buffer[] =>
  sealer.macs('magic-link', token)

interface LinkRequest {
  email: string
  tenant_id?: string | undefined
}

/**
 * Mails a link to log in, if the address has an active account, and ends those mailed before except the newest two; if
 * not, the same answer and time. Returns the nonce that the link works with. 403 `channel_disabled`, 429 `throttled`.
 */
export async function requestMagicLink(
  deps: Deps,
  requestInfo: RequestInfo,
  { email, tenant_id: targetId }: LinkRequest,
): Promise<{ message: typeof magicLinkSent; nonce: string }> {
  assertMagicLinksOn(deps)
  const link = { email, purpose: 'magic-link' } as const
  const token = await mailAccountLink(deps, requestInfo, link, async (tx, recipient) => {
    const { userId, firstName, tenantId } = recipient
    const at = deps.clock()
    const purpose = 'magic_link'
    await lockUser(tx, userId) // links that are asked for at the same time count each other
    await endOldTokens(tx, { userId, purpose, kept: maxLive - 1, at })
    const target = targetId === undefined ? {} : { targetId }
    const lifeMs = minutes * 60_000
    const token = await makeLinkToken(tx, { purpose, userId, tenantId, email, ...target, at, lifeMs })
    const variables = { firstName, link: linkUrl(deps, purpose, token), minutes }
    const mail = { tenantId, to: email, template: 'magic_link', variables } as const
    await sendMail(tx, deps.sealer, {
      ...mail,
      requestInfo,
      at,
    })
    return token
  })
  const nonce = token === null ? randomBytes(32) : noncesOf(deps, token)[0]!
  return { message: magicLinkSent, nonce: nonce.toString('base64url') }
}
