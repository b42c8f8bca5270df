import { inTenant, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../request/caller.ts'
import { assertCanEnrol } from '../otp/enrolment.ts'
import { assertPasskeysOn, creationOptionsFor, makeChallenge } from './ceremony.ts'
import { relyingParty } from './relying-party.ts'
import { listCredentialIds } from './store.ts'

const maxPasskeys = 20

/**
 * Begins the registration of a passkey: the options for the browser, with a challenge for this session. 401 unless the
 * caller authenticated recently ({@link assertCanEnrol}), 403 `channel_disabled`, 409 `limit_reached`.
 */
export async function beginRegistration(deps: Deps, caller: Caller, currentPassword: string | undefined) {
  const { config, db, clock } = deps
  assertPasskeysOn(deps)
  const at = clock()
  await assertCanEnrol(deps, caller, { now: at, currentPassword })
  const { userId, sessionId: signInId, auth } = caller
  const { email, firstName, lastName } = auth.user
  return inTenant(db, caller, async (tx) => {
    const handles = await assertRoomForPasskey(tx, userId)
    const challenge = await makeChallenge(tx, { ceremony: 'registration', userId, signInId }, at)
    const rp = { id: relyingParty(deps).id, name: config.OTP_TOTP_ISSUER_NAME }
    const person = { userId, email, displayName: `${firstName} ${lastName}`.trim() }
    return creationOptionsFor({ rp, person, challenge, handles })
  })
}

/** Returns the credential ids of a person's passkeys; throws 409 `limit_reached` if they cannot have another one. */
export async function assertRoomForPasskey(tx: Tx, userId: string) {
  const handles = await listCredentialIds(tx, userId)
  if (handles.length < maxPasskeys) return handles
  throw new ApiError(409, 'limit_reached', `You have ${maxPasskeys} passkeys already. Delete one first.`)
}
