import { makeTotpSecret, provisioningUri } from '../../crypto/totp.ts'
import { inTenant } from '../../database/executor/transaction.ts'
import { countLog } from '../../database/log-quota.ts'
import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../messages/audit/append-audit.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { holdSignIn } from '../sessions/store.ts'
import { assertChannelOn } from './channels.ts'
import { totpContext } from './check-totp.ts'
import { assertCanEnrol } from './enrolment.ts'
import { findDevice, putUnconfirmedTotp } from './store.ts'
import { signInOf } from './young-factors.ts'

/**
 * Begins the set-up of a TOTP device, which replaces one that was never confirmed. Returns the secret, which is never
 * shown again. The device verifies nothing until one of its codes confirms it. 401 unless the caller authenticated
 * recently ({@link assertCanEnrol}), 403 `channel_disabled`.
 */
export async function setUpTotp(
  deps: Deps,
  caller: Caller,
  { name, currentPassword }: { name: string; currentPassword: string | undefined },
) {
  const { config, sealer, clock, db } = deps
  const { userId, auth } = caller
  assertChannelOn(config, 'totp')
  const at = clock()
  await assertCanEnrol(deps, caller, { now: at, currentPassword })
  const id = timeOrderedId(at)
  const secret = makeTotpSecret()
  const secretSealed = sealer.seal('totp', secret, totpContext(userId, id))
  const device = await inTenant(db, caller, async (tx) => {
    countLog(tx, config, { caller, at, use: 'adds' })
    await holdSignIn(tx, caller)
    await putUnconfirmedTotp(tx, { id, userId, name, secretSealed, signInId: signInOf(caller), at })
    await appendAudit(tx, {
      ...doneBy(caller, at),
      action: 'otp_device:create',
      target: { type: 'otp_device', id },
      changes: changesBetween(null, { type: 'totp', name }),
    })
    return findDevice(tx, userId, id)
  })
  if (!device) throw new Error('The new device cannot be read back')
  const { toString: drawQr } = await import('qrcode') // loaded at its first use, for a quick start
  const uri = provisioningUri(config.OTP_TOTP_ISSUER_NAME, auth.user.email, secret)
  return { device, secret, provisioning_uri: uri, qr_svg: await drawQr(uri, { type: 'svg' }) }
}
