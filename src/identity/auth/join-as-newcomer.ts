import { unusableHash } from '../../crypto/passwords.ts'
import { inTenant } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { invalidField } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { joinByInvitation } from '../../tenancy/invitations/join-by-invitation.ts'
import type { Offer } from '../../tenancy/invitations/store.ts'
import type { MemberRow } from '../../tenancy/members/store.ts'
import type { NewCredential } from '../passkeys/credential-schemas.ts'
import { insertNewcomerPasskey, newcomerId, takeNewcomerKey } from '../passkeys/newcomer-passkey.ts'
import type { FirstFactor } from '../sign-in/first-factor.ts'
import { invalidCredentials } from '../sign-in/login.ts'
import { type FactorDue, type Opened, orThrow } from '../sign-in/outcome.ts'
import { signIn } from '../sign-in/sign-in.ts'
import { recordRegistered } from '../users/record-registered.ts'
import { insertUser } from '../users/store.ts'
import { tenantWords } from './context-words.ts'
import { refuseWeakPassword } from './password-policy.ts'
import { verifyByInvitation } from './verify-by-invitation.ts'

/** A new person, with a password that they choose or a passkey that they made. */
export interface Newcomer {
  token: string
  password?: string | undefined
  credential?: NewCredential | undefined
  first_name: string
  last_name: string
}

/**
 * Makes the account of a new person by an invitation, and signs them in: with the password, or as by a mailed link, so that
 * a new passkey is asked for next. Null if the address has an account.
 */
export async function joinAsNewcomer(
  deps: Deps,
  requestInfo: RequestInfo,
  offer: Offer,
  newcomer: Newcomer,
): Promise<{ member: MemberRow; opened: Opened | FactorDue } | null> {
  const { email, tenant_id: tenantId } = offer
  const { token, credential, first_name: firstName, last_name: lastName } = newcomer
  const key = credential && (await takeNewcomerKey(deps, requestInfo, credential))
  const passwordHash = await passwordHashOf(deps, offer, newcomer)
  const at = deps.clock()
  const id = key ? newcomerId(offer, token) : timeOrderedId(at)
  const person = { id, email, firstName, lastName }
  const member = await inTenant(deps.db, { tenantId, userId: id }, async (tx) => {
    if (!(await insertUser(tx, { ...person, passwordHash, at }))) return null
    await recordRegistered(tx, { person, tenantId, bySystem: false, requestInfo, at })
    if (key) await insertNewcomerPasskey(tx, key, { person, tenantId, requestInfo, at })
    await verifyByInvitation(tx, offer, { id, requestInfo, at })
    return joinByInvitation(tx, offer, { person, requestInfo, at })
  })
  if (!member) return null
  const factor: FirstFactor = key ? { kind: 'link' } : { kind: 'password', passwordHash, attempt: null }
  const outcome = await signIn(deps, { person, factor, tenantId, requestInfo })
  if (outcome.kind === 'not_shown') throw invalidCredentials()
  return { member, opened: orThrow(outcome) }
}

/** Of the password; with a passkey in its place, one that no password has. */
async function passwordHashOf(
  deps: Deps,
  offer: Offer,
  { password, credential, first_name: firstName, last_name: lastName }: Newcomer,
): Promise<string> {
  if (credential && password === undefined) return unusableHash()
  if (credential) throw invalidField('password', 'Send a password or a credential, not both.', 'invalid')
  if (password === undefined)
    throw invalidField('password', 'Choose a password for your new account, or make a passkey.', 'required')
  const { email } = offer
  refuseWeakPassword(deps, 'password', password, {
    email,
    firstName,
    lastName,
    tenants: tenantWords([offer]),
  })
  return deps.passwords.hash(password)
}
