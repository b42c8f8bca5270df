import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { admitAttempt } from '../otp/admit-attempt.ts'
import { forgiveAttempt } from '../otp/code-store.ts'
import { passkeyUses, signInUses, type Use } from '../rate-limits/limits.ts'
import type { Person } from '../sign-in/create-own-tenant.ts'
import { type FactorDue, type Opened, orThrow } from '../sign-in/outcome.ts'
import { recordLoginFailed } from '../sign-in/record-login-failed.ts'
import { signIn } from '../sign-in/sign-in.ts'
import {
  assertPasskeysOn,
  challengeIn,
  makeChallenge,
  passkeyInvalid,
  requestOptionsFor,
} from './ceremony.ts'
import type { UsedCredential } from './credential-schemas.ts'
import { relyingParty } from './relying-party.ts'
import { findCredential, spendChallenge } from './store.ts'
import { verifyUsedCredential } from './verify-credential.ts'

const scope = { ceremony: 'sign_in', userId: null, signInId: null } as const

/** Begins a sign-in: options for the browser, the same for every person. 403 `channel_disabled`. */
export async function beginPasskeySignIn(deps: Deps) {
  assertPasskeysOn(deps)
  const challenge = await asSystem(deps.db, 'no person is logged in yet', (tx) =>
    makeChallenge(tx, scope, deps.clock()),
  )
  return requestOptionsFor(relyingParty(deps).id, challenge)
}

/**
 * Signs in the person whom a passkey names, to the tenant they name, else to the one they entered last. The session is
 * `aal2`, because the authenticator verified its user; with a passkey that does not count yet it is `aal1`, and a second
 * factor is asked for if one that counts is demanded. 400 `passkey_invalid`, the same for an unknown passkey, a wrong
 * answer and an inactive person; 403 for a tenant that they cannot enter; 429 `account_locked` or `throttled`.
 */
export async function signInWithPasskey(
  deps: Deps,
  requestInfo: RequestInfo,
  { credential, tenantId }: { credential: UsedCredential; tenantId: string | null },
): Promise<Opened | FactorDue> {
  assertPasskeysOn(deps)
  const uses = passkeyUses(requestInfo.ip)
  await deps.limiters.take(uses)
  const at = deps.clock()
  const challenge = challengeIn(credential.response.clientDataJSON)
  const known = challenge && (await findAnswered(deps, credential, challenge, at))
  if (!known) throw passkeyInvalid()
  const { id, user_id: userId, email, first_name: firstName, last_name: lastName, counts_from } = known
  await admitAttempt(deps, { userId, requestInfo, at }, async () => undefined)
  const answer = { requestInfo, credential, challenge }
  const used = await verifyUsedCredential(deps, answer, known, { discovered: true })
  if (!used) throw await refusal(deps, requestInfo, userId, at)
  const person = { id: userId, email, firstName, lastName }
  await countSignIn(deps, person, uses, at)
  const counts = counts_from === null || counts_from <= at
  const factor = { kind: 'passkey', id, ...used, counts, attemptedAt: at } as const
  const outcome = await signIn(deps, { person, factor, tenantId, requestInfo })
  if (outcome.kind === 'not_shown') throw await refusal(deps, requestInfo, userId, at)
  await deps.limiters.giveBack(uses)
  return orThrow(outcome)
}

/** Records the failure of a person. */
async function refusal(deps: Deps, { requestId }: RequestInfo, userId: string, at: number) {
  await asSystem(deps.db, 'no person is logged in yet', (tx) =>
    recordLoginFailed(tx, { userId, requestId, at }),
  )
  return passkeyInvalid()
}

/** Counts the sign-in. If there were too many, the answer was right all the same: what it counted as an attempt is taken back. */
async function countSignIn(
  deps: Deps,
  { id: userId, email }: Person,
  attempt: Use[],
  at: number,
): Promise<void> {
  try {
    await deps.limiters.take(signInUses(email))
  } catch (error) {
    await deps.limiters.giveBack(attempt)
    await asSystem(deps.db, 'no person is logged in yet', (tx) => forgiveAttempt(tx, { userId, at }))
    throw error
  }
}

/** Uses the challenge up; returns the passkey that answers it, or null. */
const findAnswered = (deps: Deps, { id }: UsedCredential, challenge: Buffer, at: number) =>
  asSystem(deps.db, 'no person is logged in yet', async (tx) =>
    (await spendChallenge(tx, { ...scope, challenge, at }))
      ? findCredential(tx, Buffer.from(id, 'base64url'))
      : null,
  )
