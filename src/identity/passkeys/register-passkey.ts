import { inTenant } from '../../database/executor/transaction.ts'
import { countLog } from '../../database/log-quota.ts'
import type { Deps } from '../../deps.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { assertCanEnrol } from '../otp/enrolment.ts'
import { countEnrolment, notifyEnrolment } from '../otp/notify-enrolment.ts'
import { countsFrom, signInOf } from '../otp/young-factors.ts'
import { holdSignIn } from '../sessions/store.ts'
import { assertRoomForPasskey } from './begin-registration.ts'
import { assertPasskeysOn, challengeIn, passkeyInvalid } from './ceremony.ts'
import type { NewCredential } from './credential-schemas.ts'
import { findPasskey, insertPasskey, type PasskeyRow, spendChallenge } from './store.ts'
import { verifyNewCredential } from './verify-credential.ts'

interface Registration {
  name: string
  credential: NewCredential
}

/**
 * Registers a passkey that answers a challenge of this session, once, and tells its person. This switches MFA on. The
 * session stays as it is: an attestation of the form `none` is signed by no key, so it proves nothing. 400
 * `passkey_invalid`, 401 if MFA is on and no second factor was shown recently, 409 `limit_reached`, 429 `throttled`.
 */
export async function registerPasskey(
  deps: Deps,
  caller: Caller,
  { name, credential }: Registration,
): Promise<PasskeyRow> {
  assertPasskeysOn(deps)
  const at = deps.clock()
  // The person authenticated for it when this session began the registration, which the challenge proves.
  await assertCanEnrol(deps, caller, { now: at, currentPassword: undefined, begun: true })
  const { userId, sessionId: signInId, requestInfo } = caller
  const challenge = challengeIn(credential.response.clientDataJSON)
  const scope = { ceremony: 'registration', userId, signInId } as const
  const spent =
    challenge && (await inTenant(deps.db, caller, (tx) => spendChallenge(tx, { ...scope, challenge, at })))
  if (!spent) throw passkeyInvalid()
  const made = await verifyNewCredential(deps, { requestInfo, credential, challenge })
  if (!made) throw passkeyInvalid()
  await countEnrolment(deps, caller, at)
  const { transports } = credential.response
  const id = timeOrderedId(at)
  const registered = await inTenant(deps.db, caller, async (tx) => {
    countLog(tx, deps.config, { caller, at, use: 'adds' })
    await holdSignIn(tx, caller)
    await assertRoomForPasskey(tx, userId)
    const from = await countsFrom(deps, tx, caller, at)
    const given = { userId, id, name, transports, countsFrom: from, signInId: signInOf(caller), at }
    if (!(await insertPasskey(tx, { ...made, ...given }))) return null
    await recordChange(tx, caller, at, {
      event: 'identity.passkey_registered',
      data: { user_id: userId, passkey_id: id },
      action: 'passkey:create',
      target: { type: 'passkey', id },
      changes: changesBetween(null, { name }),
    })
    await notifyEnrolment(deps, tx, caller, { type: 'passkey', id, countsFrom: from }, at)
    return findPasskey(tx, userId, id)
  })
  if (!registered) throw passkeyInvalid()
  return registered
}
