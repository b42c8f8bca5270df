import { createHash } from 'node:crypto'
import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit, changesBetween } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Offer } from '../../tenancy/invitations/store.ts'
import {
  assertPasskeysOn,
  challengeIn,
  creationOptionsFor,
  makeChallenge,
  passkeyInvalid,
} from './ceremony.ts'
import type { NewCredential } from './credential-schemas.ts'
import { relyingParty } from './relying-party.ts'
import { insertPasskey, spendChallenge } from './store.ts'
import { verifyNewCredential } from './verify-credential.ts'

// The passkey of a person who makes their account with it, by an invitation. The challenge is one of no person, as at a
// sign-in: the token of the invitation says who they are.

const scope = { ceremony: 'sign_in', userId: null, signInId: null } as const
const reason = 'the person has no account yet'
const name = 'Passkey'

/**
 * The id of the account to come, which the passkey holds: the same for each use of the token. A UUIDv7 with the time of the
 * invitation; without the token it cannot be told.
 */
export function newcomerId({ id }: Pick<Offer, 'id'>, token: string): string {
  const hash = createHash('sha256').update(`newcomer ${token}`).digest()
  const high = (0x7000 | (hash.readUInt16BE(0) & 0xfff)).toString(16)
  const low = (0x8000 | (hash.readUInt16BE(2) & 0x3fff)).toString(16)
  return `${id.slice(0, 13)}-${high}-${low}-${hash.toString('hex', 4, 10)}`
}

/** Begins to make the passkey. 403 `channel_disabled`. */
export async function beginNewcomerPasskey(
  deps: Deps,
  { id, email }: Pick<Offer, 'id' | 'email'>,
  token: string,
) {
  assertPasskeysOn(deps)
  const challenge = await asSystem(deps.db, reason, (tx) => makeChallenge(tx, scope, deps.clock()))
  const rp = { id: relyingParty(deps).id, name: deps.config.OTP_TOTP_ISSUER_NAME }
  const person = { userId: newcomerId({ id }, token), email, displayName: '' }
  return creationOptionsFor({ rp, person, challenge, handles: [] })
}

/** The key of a passkey that answers a challenge, once. Throws 400 `passkey_invalid`. */
export async function takeNewcomerKey(deps: Deps, requestInfo: RequestInfo, credential: NewCredential) {
  assertPasskeysOn(deps)
  const challenge = challengeIn(credential.response.clientDataJSON)
  const at = deps.clock()
  const spent =
    challenge && (await asSystem(deps.db, reason, (tx) => spendChallenge(tx, { ...scope, challenge, at })))
  const key = spent && (await verifyNewCredential(deps, { requestInfo, credential, challenge }))
  if (!key) throw passkeyInvalid()
  return { ...key, transports: credential.response.transports }
}

interface Newcomer {
  person: { id: string; email: string }
  tenantId: string
  requestInfo: RequestInfo
  at: number
}

/** Inserts the passkey of a new person, in the transaction that inserts them. It counts at once: nothing else is older. */
export async function insertNewcomerPasskey(
  tx: Tx,
  key: Awaited<ReturnType<typeof takeNewcomerKey>>,
  { person, tenantId, requestInfo, at }: Newcomer,
): Promise<void> {
  const { id: userId } = person
  const id = timeOrderedId(at)
  const passkey = { ...key, userId, id, name, countsFrom: null, signInId: id, at }
  if (!(await insertPasskey(tx, passkey))) throw passkeyInvalid()
  await appendEvent(tx, {
    type: 'identity.passkey_registered',
    tenantId,
    subject: userId,
    data: { user_id: userId, passkey_id: id },
    actorId: userId,
    requestId: requestInfo.requestId,
    at,
  })
  await appendAudit(tx, {
    tenantId,
    actor: person,
    requestInfo,
    action: 'passkey:create',
    target: { type: 'passkey', id },
    changes: changesBetween(null, { name }),
    at,
  })
}
