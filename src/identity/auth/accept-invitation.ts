import { asSystem, inTenant } from '../../database/executor/transaction.ts'
import { willChange } from '../../database/locks.ts'
import type { Deps } from '../../deps.ts'
import { unauthorized } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import type { Caller } from '../../request/caller.ts'
import {
  emailMismatch,
  findLiveOffer,
  findLiveOfferTo,
  joinByInvitation,
} from '../../tenancy/invitations/join-by-invitation.ts'
import type { Offer } from '../../tenancy/invitations/store.ts'
import { showMember } from '../../tenancy/members/member-schemas.ts'
import type { MemberRow } from '../../tenancy/members/store.ts'
import { beginNewcomerPasskey } from '../passkeys/newcomer-passkey.ts'
import { handOut } from '../sign-in/outcome.ts'
import { findCredentials, findUser } from '../users/store.ts'
import { joinAsNewcomer, type Newcomer } from './join-as-newcomer.ts'
import { verifyByInvitation } from './verify-by-invitation.ts'

/**
 * Accepts an invitation by its token. A logged-in person must have the invited address (403 `email_mismatch`), which it
 * verifies. A new person registers with it and is logged in. 401 if the address has an account that is not logged in;
 * also the refusals of {@link findLiveOffer} and {@link joinByInvitation}.
 */
export async function acceptInvitation(
  deps: Deps,
  caller: Caller | null,
  requestInfo: RequestInfo,
  body: Newcomer,
) {
  const offer = await findLiveOffer(deps, body.token)
  if (caller) return toJsonAccepted(offer, await joinAsCaller(deps, caller, offer, { hasToken: true }))
  await assertNew(deps, offer)
  const joined = await joinAsNewcomer(deps, requestInfo, offer, body)
  if (!joined) throw accountExists()
  return handOut(joined.opened, toJsonAccepted(offer, joined.member))
}

/**
 * Accepts an invitation to the caller's verified address by its id. The refusals of {@link findLiveOfferTo} and
 * {@link joinByInvitation}.
 */
export async function acceptReceived(deps: Deps, caller: Caller, id: string) {
  const offer = await findLiveOfferTo(deps, caller.auth.user, id)
  return toJsonAccepted(offer, await joinAsCaller(deps, caller, offer, { hasToken: false }))
}

/** Begins to make a passkey for the account of a new person. 401 if the address has one; 403 `channel_disabled`. */
export async function beginToAccept(deps: Deps, token: string) {
  const offer = await findLiveOffer(deps, token)
  await assertNew(deps, offer)
  return beginNewcomerPasskey(deps, offer, token)
}

async function assertNew({ db }: Deps, { email }: Offer): Promise<void> {
  const known = await asSystem(db, 'no person is logged in yet', (tx) => findCredentials(tx, email))
  if (known) throw accountExists()
}

const accountExists = () =>
  unauthorized(
    'not_authenticated',
    'This address has an account: sign in to it, then send the token of the link with your access token. If you do not know the password, reset it.',
  )

const toJsonAccepted = (offer: Offer, member: MemberRow) => ({
  invitation_id: offer.id,
  tenant: { id: offer.tenant_id, name: offer.tenant_name, slug: offer.tenant_slug },
  member: showMember(member),
})

/**
 * Reads the address again in the transaction: it can have changed since the request was authenticated. The token verifies it; without
 * the token it has to be verified already.
 */
function joinAsCaller(
  deps: Deps,
  caller: Caller,
  offer: Offer,
  { hasToken }: { hasToken: boolean },
): Promise<MemberRow> {
  const { userId, requestInfo, decisionId } = caller
  const at = deps.clock()
  if (caller.auth.user.email !== offer.email) throw emailMismatch()
  return inTenant(deps.db, { tenantId: offer.tenant_id, userId }, async (tx) => {
    willChange(tx, userId)
    const user = await findUser(tx, userId)
    if (user?.email !== offer.email || !(hasToken || user.email_verified_at)) throw emailMismatch()
    const person = { id: userId, email: user.email, firstName: user.first_name, lastName: user.last_name }
    if (hasToken) await verifyByInvitation(tx, offer, { id: userId, requestInfo, at })
    return joinByInvitation(tx, offer, { person, requestInfo, decisionId, at })
  })
}
