import { appendAudit, changesBetween } from '../../platform/audit/append-audit.ts'
import type { Sealer } from '../../platform/crypto/seal.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { unreachableEmail } from '../../platform/email-address.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { endTokensSentElsewhere } from '../../platform/links/link-store.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { copyProfile } from '../../tenancy/members/store.ts'
import { findFirstTenantOf } from '../../tenancy/tenants/store.ts'
import { endSessions } from '../sessions/end-session.ts'
import { endSessionsOf } from '../sessions/store.ts'
import { findUnproven, restoreAddress } from './address-store.ts'
import { erasePerson, holdPersonWithTenants, tenantsOwnedAlone } from './erase-person.ts'
import { findUserByEmail } from './store.ts'

// An account may have an address that it never proved. Its mailbox may be another person's, who gets it back here: see
// "First proof of an address" in docs/explanation/second-factors.md.

interface Deps {
  sealer: Sealer
}

/** Which account loses which address; `tenantId` is where its events belong, null where there is no such tenant. */
interface Claim {
  userId: string
  email: string
  tenantId: string | null
  requestInfo: RequestInfo
  at: number
}

/**
 * Takes an address that an account never proved away from it, with all sessions. In this order, the account
 *
 * - gets the address before it back, as verified as that was; an unproven account that has it by now loses it likewise;
 * - is erased, where it never had a verified address;
 * - goes on under an unreachable address, where it is the only owner of a tenant that others belong to, or its earlier
 *   verified address is another's by now.
 *
 * Gives the ids of people who were erased; null where the account has another address, or proved this one. As the
 * system role.
 */
export async function releaseAddress(
  tx: Tx,
  deps: Deps,
  claim: Claim,
  { evicts = true } = {},
): Promise<{ erased: string[] } | null> {
  const { userId: id, email, requestInfo, at } = claim
  const held = await holdPersonWithTenants(tx, id)
  const unproven = held && (await findUnproven(tx, { id, email }))
  if (!held || !unproven) return null
  const { previous_email: previous, previous_verified_at: verifiedAt } = unproven
  // One level deep: an account that is evicted here evicts no other in turn.
  const erased =
    previous !== null && verifiedAt !== null && evicts
      ? await evictUnproven(tx, deps, { email: previous, exceptId: id, requestInfo, at }, { evicts: false })
      : []
  if (previous !== null && (await moveTo(tx, deps, claim, { email: previous, verifiedAt }))) return { erased }
  if (verifiedAt === null && tenantsOwnedAlone(held).length === 0) {
    await erasePerson(tx, held, { by: 'mailbox', requestInfo, at })
    return { erased: [...erased, id] }
  }
  await moveTo(tx, deps, claim, { email: unreachableEmail(), verifiedAt: null })
  return { erased }
}

/**
 * Takes an address away from the account that has it without having proved it, if there is one and it is not
 * `exceptId`; gives the ids of people who were erased. As the system role.
 */
export async function evictUnproven(
  tx: Tx,
  deps: Deps,
  { email, exceptId, requestInfo, at }: Omit<Claim, 'userId' | 'tenantId'> & { exceptId: string },
  options?: { evicts: boolean },
): Promise<string[]> {
  const holder = await findUserByEmail(tx, email)
  if (!holder || holder.id === exceptId) return []
  const tenantId = await findFirstTenantOf(tx, holder.id)
  const claim = { userId: holder.id, email, tenantId, requestInfo, at }
  return (await releaseAddress(tx, deps, claim, options))?.erased ?? []
}

/** False where another account has the address. Links sent elsewhere are dead, and sessions, whose tokens name the old one. */
async function moveTo(
  tx: Tx,
  { sealer }: Deps,
  { userId: id, tenantId, requestInfo, at }: Claim,
  { email, verifiedAt }: { email: string; verifiedAt: number | null },
): Promise<boolean> {
  const moved = await restoreAddress(tx, { id, email, verifiedAt, at })
  if (!moved) return false
  const { first_name: firstName, last_name: lastName, replaced } = moved
  await copyProfile(tx, { id, email, firstName, lastName })
  await endTokensSentElsewhere(tx, { id, email, at })
  const ending = { userId: id, exceptId: null, reason: 'rejected', at } as const
  if (tenantId === null) {
    await endSessionsOf(tx, ending)
    return true
  }
  const told = { tenantId, actorId: null, requestId: requestInfo.requestId, at }
  await endSessions(tx, { ...told, ...ending })
  await appendEvent(tx, { ...told, type: 'identity.user_updated', subject: id, data: { user_id: id } })
  await appendAudit(tx, {
    tenantId,
    actor: null,
    requestInfo,
    action: 'email_verification:reject',
    target: { type: 'user', id },
    changes: changesBetween({ email: replaced }, { email }),
    at,
  })
  const variables = { firstName, email: replaced }
  const mail = { to: email, template: 'email_change_rejected', variables } as const
  await sendMail(tx, sealer, { tenantId, requestId: requestInfo.requestId, at, ...mail })
  return true
}
