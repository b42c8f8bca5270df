import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit, changesBetween } from '../../messages/audit/append-audit.ts'
import { deadLink, findLink, spendLink } from '../../messages/links/one-time-link.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import { revokeKeysOf } from '../api-keys/store.ts'
import { endSessions } from '../sessions/end-session.ts'
import { lockUser } from '../users/store.ts'
import { recordRemoved } from './record-device.ts'
import { deleteOneDevice } from './store.ts'

/**
 * Removes the factor that a mailed link names and ends all sessions of its person, once: the person who enrolled it knew
 * only the password. 400 `token_invalid`, also if the factor is gone; `token_expired` if the token is only too old.
 */
export async function undoEnrolment(deps: Deps, requestInfo: RequestInfo, token: string): Promise<void> {
  const at = deps.clock()
  const { requestId } = requestInfo
  await asSystem(deps.db, 'the holder of the link need not be logged in', async (tx) => {
    const link = await findLink(tx, { purpose: 'factor_undo', token, at })
    const { userId, tenantId, email: to, targetId } = link
    const user = await lockUser(tx, userId)
    await spendLink(tx, link)
    const device = targetId === null ? null : await deleteOneDevice(tx, { userId, id: targetId })
    if (!user || !device) throw deadLink()
    const { type } = device
    const common = { tenantId, requestId, at }
    await recordRemoved(tx, userId, { ...common, actorId: userId }, [device])
    await appendAudit(tx, {
      tenantId,
      actor: { id: userId, email: to },
      requestInfo,
      action: type === 'passkey' ? 'passkey:undo' : 'otp_device:undo',
      target: { type: type === 'passkey' ? type : 'otp_device', id: device.id },
      changes: changesBetween({ type }, null),
      at,
    })
    revokeKeysOf(tx, { userId, at })
    await endSessions(tx, { ...common, userId, exceptId: null, reason: 'undone' })
    const mail = {
      to,
      template: 'second_factor_removed',
      variables: { device: type, firstName: user.first_name },
    } as const
    await sendMail(tx, deps.sealer, { tenantId, requestInfo, at, ...mail })
  })
}
