import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { type Linking, listLinking, takeIdentity } from '../../federation/connections/directory-store.ts'
import { linkIdentity } from '../../identity/federated/link-identity.ts'
import type { IdentityKey } from '../../identity/federated/store.ts'
import { findUser, lockUser, type UserRow } from '../../identity/users/store.ts'
import { actorOf, appendAudit, changesBetween, doneBy } from '../../messages/audit/append-audit.ts'
import { normaliseEmail } from '../../messages/mail/email-address.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { causedBy } from '../../messages/outbox/caused-by.ts'
import type { Caller } from '../../request/caller.ts'
import { findVoucher } from '../../tenancy/domains/store.ts'
import { listMembershipsOf } from '../../tenancy/members/store.ts'

/** What a directory calls a person. */
export interface Names {
  userName: string
  externalId: string | null
}

export interface PreLink {
  userId: string
  /** What the directory called them before; null: it has just made them a member, at an address that the tenant vouches for. */
  from: Names | null
  to: Names
  /** SCIM made the person. Others get a mail with a link that unlinks the identity. */
  isMade: boolean
}

/**
 * Links a person to the active connections of the tenant whose `directory_subject` is set, so that they sign in there at once: no other
 * account keeps a link by the name of a new member. A rename ends the link by the old name. Only a person whom SCIM made, who is no owner and whose
 * address the tenant vouches for, has one by the new name, if it is free; others link again when they sign in. An address is no
 * subject: the connection would refuse it.
 */
export async function preLink(
  deps: Deps,
  caller: Caller,
  { userId, from, to, isMade }: PreLink,
): Promise<void> {
  const { tenantId, requestInfo } = caller
  const at = deps.clock()
  await asSystem(deps.db, 'a directory says who its people are at a connection', async (tx) => {
    const connections = await listLinking(tx, tenantId)
    if (connections.length === 0) return
    await lockUser(tx, userId)
    const user = await findUser(tx, userId)
    if (!user?.is_active) return
    const isLinked = from === null || (isMade && (await isVouched(tx, tenantId, user)))
    const person = { id: userId, email: user.email, firstName: user.first_name }
    for (const connection of connections) {
      const now = keyOf(connection, to)
      const before = from && keyOf(connection, from)
      if (before?.subject === now.subject) continue
      if (before && !(await unlink(tx, caller, before, { userId }, at))) continue
      if (!isLinked || now.subject === '' || normaliseEmail(now.subject) !== null) continue
      if (!before) await unlink(tx, caller, now, { allBut: userId }, at)
      const identity = { ...now, name: connection.name, tenantId, email: user.email }
      await linkIdentity(deps, tx, {
        identity,
        person,
        tenantId,
        tells: !isMade,
        by: actorOf(caller),
        requestInfo,
        at,
      })
    }
  })
}

/** Whether the tenant can say whose the account is: that of no owner, at an address of its own domain. */
async function isVouched(tx: Tx, tenantId: string, { id, email }: UserRow): Promise<boolean> {
  const [voucher, memberships] = await Promise.all([
    findVoucher(tx, tenantId, email),
    listMembershipsOf(tx, id),
  ])
  return voucher === 'owner' && !memberships.some(({ is_owner }) => is_owner)
}

const keyOf = (connection: Linking, { userName, externalId }: Names): IdentityKey => ({
  provider: connection.id,
  issuer: connection.issuer,
  attribute: connection.subject_attribute,
  subject: (connection.directory_subject === 'user_name' ? userName : externalId) ?? '',
})

/** Unlinks an identity; false if it was not linked. */
async function unlink(
  tx: Tx,
  caller: Caller,
  key: IdentityKey,
  from: { userId: string } | { allBut: string },
  at: number,
): Promise<boolean> {
  const removed = await takeIdentity(tx, key, from)
  if (!removed) return false
  const { provider } = key
  const { id, user_id: userId } = removed
  await appendEvent(tx, {
    ...causedBy(caller, at),
    type: 'identity.identity_unlinked',
    subject: userId,
    data: { user_id: userId, identity_id: id, provider },
  })
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'identity:delete',
    target: { type: 'identity', id },
    changes: changesBetween({ provider }, null),
  })
  return true
}
