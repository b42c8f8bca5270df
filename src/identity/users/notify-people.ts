import type { Sealer } from '../../crypto/seal.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import { type NewMail, sendMail } from '../../messages/mail/send-mail.ts'
import type { NoticeName } from '../../messages/mail/templates.ts'
import { listProvenAddressesOf } from '../../tenancy/members/person-store.ts'
import { listMailboxes } from './address-store.ts'

type Notice<Name extends NoticeName> = Omit<NewMail<Name>, 'to'>

/**
 * Mails people about what happened, each at the mailbox that their codes go to. A mailbox that is not proven gets
 * nothing: its reader could be a stranger. The notices are sent after the commit; the worker limits how many.
 */
export async function notifyPeople<Name extends NoticeName>(
  tx: Tx,
  sealer: Sealer,
  userIds: readonly string[],
  notice: Notice<Name>,
): Promise<void> {
  for (const { address: to, proven } of await listMailboxes(tx, userIds, notice.at))
    if (proven) await sendMail(tx, sealer, { ...notice, to })
}

/**
 * Mails members about what happened in their tenant, each at their address, if it is proven. It knows no other mailbox of theirs: a
 * tenant sees the copies in its memberships alone. Limited as {@link notifyPeople}.
 */
export async function notifyMembers<Name extends NoticeName>(
  tx: Tx,
  sealer: Sealer,
  userIds: readonly string[],
  notice: Notice<Name>,
): Promise<void> {
  for (const to of await listProvenAddressesOf(tx, notice.tenantId, userIds))
    await sendMail(tx, sealer, { ...notice, to })
}

/** {@link notifyPeople} for one person. */
export const notifyPerson = <Name extends NoticeName>(
  tx: Tx,
  sealer: Sealer,
  userId: string,
  notice: Notice<Name>,
): Promise<void> => notifyPeople(tx, sealer, [userId], notice)
