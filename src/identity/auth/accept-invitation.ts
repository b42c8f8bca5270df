import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween } from '../../platform/audit/append-audit.ts'
import { asSystem, inTenant, type Tx } from '../../platform/db/transaction.ts'
import { invalidField, unauthorized } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import {
  emailMismatch,
  findLiveOffer,
  joinByInvitation,
} from '../../tenancy/invitations/join-by-invitation.ts'
import type { Offer } from '../../tenancy/invitations/store.ts'
import { showMember } from '../../tenancy/members/member-schemas.ts'
import { listMembershipsOf, type MemberRow } from '../../tenancy/members/store.ts'
import { tellVerified } from '../email-verification/tell-verified.ts'
import { signIn } from '../sessions/sign-in.ts'
import { findCredentials, findUser, insertUser, markEmailVerified } from '../users/store.ts'
import { tenantWords } from './context-words.ts'
import { refuseWeakPassword } from './password-policy.ts'

export interface AcceptBody {
  token: string
  password?: string | undefined
  first_name: string
  last_name: string
}

/**
 * Accepts an invitation by its token: as the person logged in, whose address it must be to (403 `email_mismatch`)
 * and is verified by it, or as somebody new, who signs up so and is logged in. 401 where the address has an account
 * that is not logged in; the refusals of {@link findLiveOffer} and {@link joinByInvitation}.
 */
export async function acceptInvitation(
  deps: Deps,
  caller: Caller | null,
  requestInfo: RequestInfo,
  body: AcceptBody,
) {
  const offer = await findLiveOffer(deps, body.token)
  if (caller) return shownTo(offer, await joinAsOneself(deps, caller, offer))
  const known = await asSystem(deps.db, 'nobody is logged in yet', (tx) => findCredentials(tx, offer.email))
  if (known) throw accountExists()
  return joinAsSomebodyNew(deps, requestInfo, offer, body)
}

const accountExists = () =>
  unauthorized(
    'not_authenticated',
    'This address has an account: log in with it, then send the token of the link with your access token.',
  )

const shownTo = (offer: Offer, member: MemberRow) => ({
  invitation_id: offer.id,
  tenant: { id: offer.tenant_id, name: offer.tenant_name, slug: offer.tenant_slug },
  member: showMember(member),
})

/** The address is read in the transaction: it may have changed since the request was admitted. */
function joinAsOneself(deps: Deps, caller: Caller, offer: Offer): Promise<MemberRow> {
  const { userId, requestInfo, decisionId } = caller
  const at = deps.clock()
  if (caller.auth.user.email !== offer.email) throw emailMismatch()
  return inTenant(deps.db, { tenantId: offer.tenant_id, userId }, async (tx) => {
    const user = await findUser(tx, userId)
    if (user?.email !== offer.email) throw emailMismatch()
    const person = { id: userId, email: user.email, firstName: user.first_name, lastName: user.last_name }
    const member = await joinByInvitation(tx, offer, { person, requestInfo, decisionId, at })
    await verifyByInvitation(tx, offer, { id: userId, requestInfo, at })
    return member
  })
}

async function joinAsSomebodyNew(deps: Deps, requestInfo: RequestInfo, offer: Offer, body: AcceptBody) {
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
    if (!(await insertUser(tx, { ...person, passwordHash, at }))) throw accountExists()
    await appendEvent(tx, {
      type: 'identity.user_created',
      tenantId,
      subject: person.id,
      data: { user_id: person.id, email },
      actorId: person.id,
      requestId: requestInfo.requestId,
      at,
    })
    await appendAudit(tx, {
      tenantId,
      actor: person,
      requestInfo,
      action: 'user:register',
      target: { type: 'user', id: person.id },
      changes: changesBetween(null, { email, first_name: firstName, last_name: lastName }),
      at,
    })
    await verifyByInvitation(tx, offer, { id: person.id, requestInfo, at })
    return joinByInvitation(tx, offer, { person, requestInfo, at })
  })
  const places = await asSystem(deps.db, 'a session begins before its tenant is in force', (tx) =>
    listMembershipsOf(tx, person.id),
  )
  const place = places.find((candidate) => candidate.tenant_id === tenantId)
  if (!place) throw new Error('The tenant just joined cannot be entered')
  return {
    ...shownTo(offer, member),
    ...(await signIn(deps, { ...person, passwordHash }, place, requestInfo)),
  }
}

/** Whoever holds the token reads the mail of the address; said once, in the tenant that invited. */
export async function verifyByInvitation(
  tx: Tx,
  { tenant_id: tenantId, email }: Offer,
  { id, requestInfo, at }: { id: string; requestInfo: RequestInfo; at: number },
): Promise<void> {
  if (!(await markEmailVerified(tx, { id, email, at }))) return
  await tellVerified(tx, { userId: id, email, tenantId, requestInfo, at })
}
