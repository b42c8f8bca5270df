import { asSystem, inTenant, type Tx } from '../../database/executor/transaction.ts'
import { willChange } from '../../database/locks.ts'
import type { Deps } from '../../deps.ts'
import { invalidField, unauthorized } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import {
  emailMismatch,
  findLiveOffer,
  joinByInvitation,
} from '../../tenancy/invitations/join-by-invitation.ts'
import type { Offer } from '../../tenancy/invitations/store.ts'
import { showMember } from '../../tenancy/members/member-schemas.ts'
import type { MemberRow } from '../../tenancy/members/store.ts'
import { recordVerified } from '../email-verification/record-verified.ts'
import { invalidCredentials } from '../sign-in/login.ts'
import { handOut, orThrow } from '../sign-in/outcome.ts'
import { signIn } from '../sign-in/sign-in.ts'
import { markProven } from '../users/address-store.ts'
import { recordRegistered } from '../users/record-registered.ts'
import { findCredentials, findUser, insertUser } from '../users/store.ts'
import { tenantWords } from './context-words.ts'
import { refuseWeakPassword } from './password-policy.ts'

interface AcceptBody {
  token: string
  password?: string | undefined
  first_name: string
  last_name: string
}

/**
 * Accepts an invitation by its token. A logged-in person must have the invited address (403 `email_mismatch`), which it
 * verifies. A new person registers with it and is logged in. 401 if the address has an account that is not logged in;
 * also the refusals of {@link findLiveOffer} and {@link joinByInvitation}.
 */
export async function acceptInvitation(
  deps: Deps,
  caller: Caller | null,
  requestInfo: RequestInfo,
  body: AcceptBody,
) {
  const offer = await findLiveOffer(deps, body.token)
  if (caller) return toJsonAccepted(offer, await joinAsCaller(deps, caller, offer))
  const known = await asSystem(deps.db, 'no person is logged in yet', (tx) =>
    findCredentials(tx, offer.email),
  )
  if (known) throw accountExists()
  return joinAsNewPerson(deps, requestInfo, offer, body)
}

const accountExists = () =>
  unauthorized(
    'not_authenticated',
    'This address has an account: log in to it, then send the token of the link with your access token. If you do not know the password, reset it.',
  )

const toJsonAccepted = (offer: Offer, member: MemberRow) => ({
  invitation_id: offer.id,
  tenant: { id: offer.tenant_id, name: offer.tenant_name, slug: offer.tenant_slug },
  member: showMember(member),
})

/** Reads the address again in the transaction: it can have changed since the request was authenticated. */
function joinAsCaller(deps: Deps, caller: Caller, offer: Offer): Promise<MemberRow> {
  const { userId, requestInfo, decisionId } = caller
  const at = deps.clock()
  if (caller.auth.user.email !== offer.email) throw emailMismatch()
  return inTenant(deps.db, { tenantId: offer.tenant_id, userId }, async (tx) => {
    willChange(tx, userId)
    const user = await findUser(tx, userId)
    if (user?.email !== offer.email) throw emailMismatch()
    const person = { id: userId, email: user.email, firstName: user.first_name, lastName: user.last_name }
    const member = await joinByInvitation(tx, offer, { person, requestInfo, decisionId, at })
    await verifyByInvitation(tx, offer, { id: userId, requestInfo, at })
    return member
  })
}

async function joinAsNewPerson(deps: Deps, requestInfo: RequestInfo, offer: Offer, body: AcceptBody) {
  const { email, tenant_id: tenantId } = offer
  const { password, first_name: firstName, last_name: lastName } = body
  if (password === undefined)
    throw invalidField('password', 'Choose a password for your new account.', 'required')
  refuseWeakPassword(deps, 'password', password, {
    email,
    firstName,
    lastName,
    tenants: tenantWords([offer]),
  })
  const passwordHash = await deps.passwords.hash(password)
  const at = deps.clock()
  const person = { id: timeOrderedId(at), email, firstName, lastName }
  const member = await inTenant(deps.db, { tenantId, userId: person.id }, async (tx) => {
    if (!(await insertUser(tx, { ...person, passwordHash, at }))) return null
    await recordRegistered(tx, { person, tenantId, bySystem: false, requestInfo, at })
    await verifyByInvitation(tx, offer, { id: person.id, requestInfo, at })
    return joinByInvitation(tx, offer, { person, requestInfo, at })
  })
  if (!member) throw accountExists()
  const factor = { kind: 'password', passwordHash, attempt: null } as const
  const outcome = await signIn(deps, { person, factor, tenantId, requestInfo })
  if (outcome.kind === 'not_shown') throw invalidCredentials()
  return handOut(orThrow(outcome), toJsonAccepted(offer, member))
}

/** Verifies the invited address: the holder of the token can read its mail. The inviting tenant gets the event. */
export async function verifyByInvitation(
  tx: Tx,
  { tenant_id: tenantId, email }: Offer,
  { id, requestInfo, at }: { id: string; requestInfo: RequestInfo; at: number },
): Promise<void> {
  if (!(await markProven(tx, { id, email, at }))) return
  await recordVerified(tx, { userId: id, email, tenantId, requestInfo, at })
}
