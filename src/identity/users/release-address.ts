import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit, changesBetween } from '../../messages/audit/append-audit.ts'
import { countTokensSince, endTokensSentElsewhere } from '../../messages/links/link-store.ts'
import { unreachableEmail } from '../../messages/mail/email-address.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { findFirstTenantOf } from '../../tenancy/tenants/store.ts'
import { revokeKeysOf } from '../api-keys/store.ts'
import { mailVerificationLink } from '../email-verification/send-verification.ts'
import { endSessions } from '../sessions/end-session.ts'
import { endSessionsOf } from '../sessions/store.ts'
import { findAddressOrigin, findUnproven, restoreAddress } from './address-store.ts'
import { erasePerson, lockPersonWithTenants, tenantsOwnedAlone } from './erase-person.ts'
import { findUserByEmail } from './store.ts'

// An account can have an address that it never proved, and another person can own the mailbox. That person gets the
// address back here: see "First proof of an address" in docs/explanation/second-factors.md.

const hour = 3_600_000

/** The account that loses an address; `tenantId` is the tenant that gets its events, null if there is none. */
interface Claim {
  userId: string
  email: string
  tenantId: string | null
  requestInfo: RequestInfo
  at: number
}

/** The ids of the people who were erased because they lost an address. Log them after the commit. */
type Erased = readonly string[]

/**
 * Removes an address that an account never proved, and ends all its sessions. The first of these that applies happens:
 *
 * - The account gets its earlier address back. That is verified if it was verified and left within the last 72 hours.
 *   Then an unproven account that has taken it loses it in the same way. Later that would need a new proof, because the
 *   mailbox can have another reader by then.
 * - The account is erased, if it never had a verified address.
 * - The account gets an unreachable address, if it is the only owner of a tenant with other members, or another account
 *   has its earlier verified address.
 *
 * Null if the account has another address by now or proved this one. As the system role.
 */
export async function releaseAddress(
  tx: Tx,
  deps: Deps,
  claim: Claim,
  { evicts = true } = {},
): Promise<Erased | null> {
  const { userId: id, email, requestInfo, at } = claim
  const person = await lockPersonWithTenants(tx, id)
  const unproven = person && (await findUnproven(tx, { id, email, at }))
  if (!person || !unproven) return null
  const { previous_email: previous, previous_verified_at: provenAt, can_undo: canUndo } = unproven
  const verifiedAt = canUndo ? provenAt : null
  // Only one level deep: an account that loses its address here takes none from a further account.
  const evicted =
    previous !== null && verifiedAt !== null && evicts
      ? await evictUnproven(tx, deps, { email: previous, exceptId: id, requestInfo, at }, { evicts: false })
      : []
  if (
    previous !== null &&
    (await changeAddress(tx, deps, claim, { email: previous, verifiedAt, provenAt }))
  ) {
    if (verifiedAt === null) await mailNewLink(tx, deps, { ...claim, email: previous })
    return evicted
  }
  if (provenAt === null && tenantsOwnedAlone(person).length === 0) {
    await erasePerson(tx, person, { by: 'mailbox', requestInfo, at })
    return [...evicted, id]
  }
  await changeAddress(tx, deps, claim, { email: unreachableEmail(), verifiedAt: null, provenAt: null })
  return evicted
}

/**
 * Mails a verification link to an address that came back unverified. Its earlier links ended with the change, so without
 * this mail its readers could no longer reject the account. Their number per hour is limited like that of the ones that
 * people ask for, but by the links in the database, because the limiter is not part of the transaction.
 */
async function mailNewLink(tx: Tx, deps: Deps, { userId, email, tenantId, requestInfo, at }: Claim) {
  if (tenantId === null) return
  const { RATE_LIMIT_ENABLED, RATE_LIMIT_MAIL_PER_HOUR } = deps.config
  const link = { userId, purpose: 'email_verification', email } as const
  const sent = await countTokensSince(tx, { ...link, since: at - hour })
  if (RATE_LIMIT_ENABLED && sent >= RATE_LIMIT_MAIL_PER_HOUR) return
  const origin = await findAddressOrigin(tx, userId)
  await mailVerificationLink(deps, tx, { userId, email, origin, tenantId, requestInfo, at })
}

/**
 * Removes an address from an account, other than `exceptId`, that has it but never proved it. As the system role.
 */
export async function evictUnproven(
  tx: Tx,
  deps: Deps,
  { email, exceptId, requestInfo, at }: Omit<Claim, 'userId' | 'tenantId'> & { exceptId: string },
  options?: { evicts: boolean },
): Promise<Erased> {
  const holder = await findUserByEmail(tx, email)
  if (!holder || holder.id === exceptId) return []
  const tenantId = await findFirstTenantOf(tx, holder.id)
  const claim = { userId: holder.id, email, tenantId, requestInfo, at }
  return (await releaseAddress(tx, deps, claim, options)) ?? []
}

/**
 * Sets the account's address; false if another account has it. Ends links sent to other addresses, and the sessions,
 * because their tokens contain the old address.
 */
async function changeAddress(
  tx: Tx,
  { sealer }: Deps,
  { userId: id, tenantId, requestInfo, at }: Claim,
  { email, verifiedAt, provenAt }: { email: string; verifiedAt: number | null; provenAt: number | null },
): Promise<boolean> {
  const moved = await restoreAddress(tx, {
    id,
    email,
    verifiedAt,
    provenAt: verifiedAt === null ? provenAt : null,
    at,
  })
  if (!moved) return false
  const { first_name: firstName, replaced } = moved
  await endTokensSentElsewhere(tx, { id, email, at })
  const ending = { userId: id, exceptId: null, reason: 'rejected', at } as const
  revokeKeysOf(tx, { userId: id, at })
  if (tenantId === null) {
    await endSessionsOf(tx, ending)
    return true
  }
  const common = { tenantId, actorId: null, requestId: requestInfo.requestId, at }
  await endSessions(tx, { ...common, ...ending })
  await appendEvent(tx, { ...common, type: 'identity.user_updated', subject: id, data: { user_id: id } })
  await appendAudit(tx, {
    tenantId,
    actor: null,
    requestInfo,
    action: 'email_verification:reject',
    target: { type: 'user', id },
    changes: changesBetween({ email: replaced }, { email }),
    at,
  })
  if (verifiedAt === null) return true
  const variables = { firstName, email: replaced }
  const mail = { to: email, template: 'email_change_rejected', variables } as const
  await sendMail(tx, sealer, { tenantId, requestInfo, at, ...mail })
  return true
}
