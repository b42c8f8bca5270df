import { unusableHash } from '../../crypto/passwords.ts'
import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit, changesBetween } from '../../messages/audit/append-audit.ts'
import { endLaterTokens, endTokens, endTokensSentElsewhere } from '../../messages/links/link-store.ts'
import { deadLink, findLink, type PresentedLink, spendLink } from '../../messages/links/one-time-link.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { revokeKeysOf } from '../api-keys/store.ts'
import { deleteIdentitiesOf } from '../federated/store.ts'
import { recordRemoved } from '../otp/record-device.ts'
import { deleteYoungDevices } from '../otp/store.ts'
import { endSessions } from '../sessions/end-session.ts'
import { forgetProofsSince, restoreAddress } from './address-store.ts'
import { endMembershipsSince } from './end-memberships-since.ts'
import { lockPersonWithTenants, logErased } from './erase-person.ts'
import { evictUnproven } from './release-address.ts'

/**
 * Undoes a change of address, once, for the person who reads the old mailbox, also after the new address was proven. The
 * account gets the old address back, as proven. What came after the change goes: memberships, factors, identities at other
 * providers, sessions, links of later changes, a password that the newer mailbox chose; and all keys, and young factors. A tenant that would lose its last
 * owner is archived; the newer address, if it was proven, gets a mail that says how an operator returns it. If another account has
 * the old address without having proved it, that account loses it ({@link evictUnproven}). 400 `token_invalid` if the
 * other account has proved it or the token is wrong, `token_expired` if the token is only too old.
 */
export async function undoEmailChange(deps: Deps, requestInfo: RequestInfo, token: string): Promise<void> {
  const at = deps.clock()
  const released = await asSystem(deps.db, 'the holder of the link need not be logged in', async (tx) => {
    const link = await findLink(tx, { purpose: 'email_undo', token, at })
    const { userId: id, email, tenantId, firstProofAt, madeAt: since } = link
    const person = await lockPersonWithTenants(tx, id)
    if (!person) throw deadLink()
    await spendLink(tx, link)
    const evicted = await evictUnproven(tx, deps, { email, exceptId: id, requestInfo, at })
    const restored = await restoreAddress(tx, { id, email, verifiedAt: at, at })
    if (!restored) throw deadLink()
    const { first_name: firstName, replaced, replaced_proven, changed } = restored
    forgetProofsSince(tx, { id, since, firstProofAt, passwordHash: unusableHash() })
    await endLinksSince(tx, link)
    await removeFactorsSince(tx, link, requestInfo)
    const archived = await endMembershipsSince(tx, person, { since, requestInfo, at })
    deleteIdentitiesOf(tx, id, since)
    revokeKeysOf(tx, { userId: id, at })
    const common = { tenantId, requestId: requestInfo.requestId, at }
    await endSessions(tx, { ...common, userId: id, exceptId: null, reason: 'undone' })
    if (!changed) return evicted
    const event = { type: 'identity.user_updated', subject: id, data: { user_id: id }, actorId: id } as const
    await appendEvent(tx, { ...common, ...event })
    await appendAudit(tx, {
      tenantId,
      actor: { id, email },
      requestInfo,
      action: 'profile:undo',
      target: { type: 'user', id },
      changes: changesBetween({ email: replaced }, { email }),
      at,
    })
    if (!replaced_proven || archived.length === 0) return evicted
    const tenants = archived.map(({ name, slug }) => ({ name, slug }))
    const variables = { firstName, email, newEmail: replaced, tenants }
    const mail = { to: replaced, template: 'email_change_undone', variables } as const
    await sendMail(tx, deps.sealer, { tenantId, requestInfo, at, ...mail })
    return evicted
  })
  logErased(deps, released)
}

/** Ends the links that the person who changed the address could still hold. */
async function endLinksSince(tx: Tx, link: PresentedLink): Promise<void> {
  const { userId, email, at } = link
  await endLaterTokens(tx, link)
  await endTokensSentElsewhere(tx, { id: userId, email, at })
  await endTokens(tx, { purpose: 'password_reset', userId, targetId: null, at })
}

async function removeFactorsSince(
  tx: Tx,
  { userId, tenantId, madeAt: since, at }: PresentedLink,
  requestInfo: RequestInfo,
) {
  const removed = await deleteYoungDevices(tx, { userId, since, at })
  await recordRemoved(
    tx,
    userId,
    { tenantId, actorId: userId, requestId: requestInfo.requestId, at },
    removed,
  )
}
