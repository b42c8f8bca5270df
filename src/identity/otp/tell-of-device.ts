import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import type { DeviceType } from './channels.ts'

const told = {
  confirmed: { type: 'identity.otp_device_confirmed', template: 'second_factor_added' },
  deleted: { type: 'identity.otp_device_deleted', template: 'second_factor_removed' },
} as const

/** Leaves the event and a mail to the owner that a device was added or removed, in the caller's transaction. */
export async function tellOfDevice(
  { sealer }: Deps,
  tx: Tx,
  caller: Caller,
  what: keyof typeof told,
  device: DeviceType,
  at: number,
): Promise<void> {
  const { userId, tokenTenantId: tenantId, requestInfo, auth } = caller
  const { requestId } = requestInfo
  const { type, template } = told[what]
  const data = { user_id: userId, device_type: device }
  await appendEvent(tx, { type, tenantId, subject: userId, data, actorId: userId, requestId, at })
  const { email: to, firstName } = auth.user
  await sendMail(tx, sealer, { tenantId, to, template, variables: { device, firstName }, requestId, at })
}
