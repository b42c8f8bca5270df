import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { appendEvent, type NewEvent } from '../../messages/outbox/append-event.ts'
import type { Caller } from '../../request/caller.ts'
import { notifyPerson } from '../users/notify-people.ts'
import type { CodeType } from './channels.ts'
import type { Removed } from './store.ts'

type Cause = Pick<NewEvent<never>, 'tenantId' | 'actorId' | 'requestId' | 'at'>

/** Appends the event for a confirmed device, in the caller's transaction. */
export async function recordConfirmed(tx: Tx, caller: Caller, device: CodeType, at: number): Promise<void> {
  const { userId, tokenTenantId: tenantId, requestInfo } = caller
  await appendEvent(tx, {
    type: 'identity.otp_device_confirmed',
    tenantId,
    subject: userId,
    data: { user_id: userId, device_type: device },
    actorId: userId,
    requestId: requestInfo.requestId,
    at,
  })
}

/** Appends the event for each deleted factor of a person, in the transaction that deleted it. */
export async function recordRemoved(
  tx: Tx,
  userId: string,
  cause: Cause,
  removed: readonly Removed[],
): Promise<void> {
  const common = { ...cause, subject: userId }
  for (const { id, type } of removed)
    if (type === 'passkey')
      await appendEvent(tx, {
        ...common,
        type: 'identity.passkey_deleted',
        data: { user_id: userId, passkey_id: id },
      })
    else
      await appendEvent(tx, {
        ...common,
        type: 'identity.otp_device_deleted',
        data: { user_id: userId, device_type: type },
      })
}

/** Appends the event for a deleted device, and a mail to its owner, in the caller's transaction. */
export async function recordDeleted(
  { sealer }: Deps,
  tx: Tx,
  caller: Caller,
  device: Removed,
  at: number,
): Promise<void> {
  const { userId, tokenTenantId: tenantId, requestInfo, auth } = caller
  const { requestId } = requestInfo
  await recordRemoved(tx, userId, { tenantId, actorId: userId, requestId, at }, [device])
  const variables = { device: device.type, firstName: auth.user.firstName }
  const mail = { tenantId, template: 'second_factor_removed', variables } as const
  await notifyPerson(tx, sealer, userId, { ...mail, requestInfo, at })
}
