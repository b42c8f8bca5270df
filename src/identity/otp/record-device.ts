import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { findMailbox } from '../users/address-store.ts'
import type { DeviceType } from './channels.ts'

/** Appends the event for a confirmed device, in the caller's transaction. */
export const recordConfirmed = (tx: Tx, caller: Caller, device: DeviceType, at: number) =>
  record(tx, caller, 'identity.otp_device_confirmed', device, at)

/** Appends the event for a deleted device, and a mail to its owner, in the caller's transaction. */
export async function recordDeleted(
  { sealer }: Deps,
  tx: Tx,
  caller: Caller,
  device: DeviceType,
  at: number,
): Promise<void> {
  await record(tx, caller, 'identity.otp_device_deleted', device, at)
  const { userId, tokenTenantId: tenantId, requestInfo, auth } = caller
  const { address: to } = await findMailbox(tx, userId, at)
  const variables = { device, firstName: auth.user.firstName }
  const mail = { tenantId, to, template: 'second_factor_removed', variables } as const
  await sendMail(tx, sealer, { ...mail, requestId: requestInfo.requestId, at })
}

async function record(
  tx: Tx,
  { userId, tokenTenantId: tenantId, requestInfo }: Caller,
  type: 'identity.otp_device_confirmed' | 'identity.otp_device_deleted',
  device: DeviceType,
  at: number,
): Promise<void> {
  const data = { user_id: userId, device_type: device }
  const event = { type, tenantId, subject: userId, data, actorId: userId } as const
  await appendEvent(tx, { ...event, requestId: requestInfo.requestId, at })
}
