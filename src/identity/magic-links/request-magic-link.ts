import { randomBytes } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import { asSystem, type Tx } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { endOldTokens } from '../../platform/links/link-store.ts'
import { linkUrl } from '../../platform/links/mailed-links.ts'
import { makeLinkToken } from '../../platform/links/one-time-link.ts'
import { greeted } from '../../platform/mail/free-text.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { findFirstTenantOf } from '../../tenancy/tenants/store.ts'
import { createOwnTenantOnceADay, type Person } from '../auth/create-own-tenant.ts'
import { channelDisabled } from '../otp/channels.ts'
import { anonymousMailUses } from '../rate-limits/limits.ts'
import { padDuration } from '../rate-limits/pad-duration.ts'
import { findCredentials, lockUser } from '../users/store.ts'

/** The answer, the same for every address. */
export const magicLinkSent = 'If this address has an account, a link to log in was sent'

// Much longer than the work takes, so that the time does not show whether there is an account.
const answerMs = 200
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

interface Asked {
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
  asked: Asked,
): Promise<{ message: typeof magicLinkSent; nonce: string }> {
  assertMagicLinksOn(deps)
  await deps.limiters.take(anonymousMailUses('magic-link', asked.email, requestInfo.ip))
  const token = await padDuration(answerMs, () => mailMagicLink(deps, requestInfo, asked))
  const nonce = token === null ? randomBytes(32) : noncesOf(deps, token)[0]!
  return { message: magicLinkSent, nonce: nonce.toString('base64url') }
}

/** Returns the token of the mailed link; null if there is no active account. */
async function mailMagicLink(deps: Deps, requestInfo: RequestInfo, asked: Asked): Promise<string | null> {
  const { email } = asked
  const { person, tenantId } = await asSystem(deps.db, 'no person is logged in yet', async (tx) => {
    const found = await findCredentials(tx, email)
    const person = found?.is_active
      ? {
          id: found.id,
          email,
          firstName: found.first_name,
          lastName: found.last_name,
          emailVerified: found.email_verified,
        }
      : null
    return { person, tenantId: person && (await findFirstTenantOf(tx, person.id)) }
  })
  if (!person) return null
  // Mails and tokens belong to a tenant. A person who deleted the one of the last 24 hours gets no mail.
  const home = tenantId ?? (await createOwnTenantOnceADay(deps, person, requestInfo))
  if (home === null) return null
  return asSystem(deps.db, 'no person is logged in yet', (tx) =>
    sendLink(deps, tx, person, { home, asked: asked.tenant_id }, requestInfo),
  )
}

async function sendLink(
  deps: Deps,
  tx: Tx,
  person: Person & { emailVerified: boolean },
  { home: tenantId, asked }: { home: string; asked: string | undefined },
  requestInfo: RequestInfo,
): Promise<string> {
  const at = deps.clock()
  const { id: userId, email } = person
  const purpose = 'magic_link'
  await lockUser(tx, userId) // links that are asked for at the same time count each other
  await endOldTokens(tx, { userId, purpose, kept: maxLive - 1, at })
  const target = asked === undefined ? {} : { targetId: asked }
  const lifeMs = minutes * 60_000
  const token = await makeLinkToken(tx, { purpose, userId, tenantId, email, ...target, at, lifeMs })
  const variables = { firstName: greeted(person), link: linkUrl(deps, purpose, token), minutes }
  const mail = { tenantId, to: email, template: 'magic_link', variables } as const
  await sendMail(tx, deps.sealer, { ...mail, requestId: requestInfo.requestId, at })
  return token
}
