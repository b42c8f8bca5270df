import { inTenant, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { notFound } from '../../errors.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import type { Caller } from '../../request/caller.ts'
import { admitAttempt } from '../otp/admit-attempt.ts'
import { assertChannelOn } from '../otp/channels.ts'
import { useFactor } from '../otp/use-factor.ts'
import { challengeIn, makeChallenge, passkeyInvalid, requestOptionsFor } from './ceremony.ts'
import type { UsedCredential } from './credential-schemas.ts'
import { relyingParty } from './relying-party.ts'
import { findCredential, listCredentialIds, recordPasskeyUse, spendChallenge } from './store.ts'
import { verifyUsedCredential } from './verify-credential.ts'

const scopeOf = ({ userId, sessionId: signInId }: Caller) =>
  ({ ceremony: 'second_factor', userId, signInId }) as const

/** Begins to show a passkey as a second factor: options with the caller's passkeys. 404 for a person without one. */
export async function beginPasskeyVerification(deps: Deps, caller: Caller) {
  assertChannelOn(deps.config, 'passkey')
  const at = deps.clock()
  return inTenant(deps.db, caller, async (tx) => {
    const handles = await listCredentialIds(tx, caller.userId)
    if (handles.length === 0)
      throw notFound('You have no passkey. Register one, or show another second factor.')
    const challenge = await makeChallenge(tx, scopeOf(caller), at)
    return requestOptionsFor(relyingParty(deps).id, challenge, handles)
  })
}

/**
 * Checks one of the caller's passkeys as a second factor, and applies it as {@link useFactor} says. 400
 * `passkey_invalid`, 403 `channel_disabled`, 429 `account_locked`.
 */
export async function verifyPasskey(deps: Deps, caller: Caller, credential: UsedCredential) {
  assertChannelOn(deps.config, 'passkey')
  const { userId, requestInfo } = caller
  const at = deps.clock()
  const challenge = challengeIn(credential.response.clientDataJSON)
  const known = await admitAttempt(deps, { userId, requestInfo, at, field: 'verified' }, async (tx: Tx) =>
    challenge && (await spendChallenge(tx, { ...scopeOf(caller), challenge, at }))
      ? findCredential(tx, Buffer.from(credential.id, 'base64url'))
      : null,
  )
  if (!challenge || known?.user_id !== userId) throw passkeyInvalid('verified')
  const answer = { requestInfo, credential, challenge }
  const used = await verifyUsedCredential(deps, answer, known, { discovered: false })
  const { id, counts_from: from } = known
  const shown = {
    type: 'passkey',
    deviceId: id,
    countsFrom: from !== null && from > at ? from : null,
  } as const
  const verified =
    used &&
    (await useFactor(deps, caller, at, {
      accept: async (tx) => ((await recordPasskeyUse(tx, { id, userId, ...used, at })) ? shown : null),
      record: async (tx) => {
        const entry = { ...doneBy(caller, at), action: 'passkey:verify' } as const
        await appendAudit(tx, { ...entry, target: { type: 'passkey', id } })
      },
    }))
  if (!verified) throw passkeyInvalid('verified')
  return verified
}
