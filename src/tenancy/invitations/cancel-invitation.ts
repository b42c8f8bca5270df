import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { invalidState, notFound } from '../../errors.ts'
import type { AuditActor } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import type { Caller } from '../../request/caller.ts'
import {
  cancelPending,
  cancelPendingTo,
  findInvitation,
  type InvitationRow,
  isMemberAddress,
} from './store.ts'

/** Cancels a pending invitation; a cancelled one stays cancelled. 409 `invalid_state` for any other status. */
export async function cancelInvitation(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  { id }: InvitationRow,
): Promise<InvitationRow> {
  const { tenantId } = caller
  const at = clock()
  const cancelled = await cancelPending(tx, tenantId, id, at)
  const invitation = await findInvitation(tx, tenantId, id, at)
  if (!invitation) throw notFound()
  if (invitation.status !== 'cancelled')
    throw invalidState(`An invitation that is ${invitation.status} cannot be cancelled.`, invitation.status)
  if (cancelled) await recordCancelled(tx, caller, id, at)
  return invitation
}

/**
 * Cancels the pending invitation to the address of a member whose membership ends, so that they cannot rejoin with it. A
 * member who leaves takes none along to an address that they did not prove: that one is for the reader of its mailbox.
 */
export async function cancelInvitationTo(
  tx: Tx,
  doer: AuditActor,
  { userId, email }: { userId: string; email: string },
  at: number,
): Promise<void> {
  if (doer.userId === userId && !(await isMemberAddress(tx, doer.tenantId, email))) return
  const id = await cancelPendingTo(tx, doer.tenantId, email, at)
  if (id) await recordCancelled(tx, doer, id, at)
}

async function recordCancelled(tx: Tx, doer: AuditActor, id: string, at: number): Promise<void> {
  await recordChange(tx, doer, at, {
    event: 'tenant.invitation_cancelled',
    data: { invitation_id: id },
    action: 'invitation:cancel',
    target: { type: 'invitation', id },
    changes: { status: { before: 'pending', after: 'cancelled' } },
  })
}
