import { inTenant } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidField } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import {
  emailMismatch,
  findLiveOffer,
  invitationInvalid,
  joinByInvitation,
} from '../../tenancy/invitations/join-by-invitation.ts'
import type { Offer } from '../../tenancy/invitations/store.ts'
import { createPersonalTenant } from '../../tenancy/tenants/create-tenant.ts'
import { mailVerificationLink } from '../email-verification/send-verification.ts'
import { registerUses } from '../rate-limits/limits.ts'
import { padDuration } from '../rate-limits/pad-duration.ts'
import type { Person } from '../sign-in/create-own-tenant.ts'
import { recordRegistered } from '../users/record-registered.ts'
import { insertUser } from '../users/store.ts'
import { tenantWords } from './context-words.ts'
import { hiddenMs, mailAddressOwner } from './mail-address-owner.ts'
import { refuseWeakPassword } from './password-policy.ts'
import { verifyByInvitation } from './verify-by-invitation.ts'

export interface RegisterBody {
  email: string
  password: string
  first_name: string
  last_name: string
  invitation_token?: string | undefined
}

/**
 * Registers a person with a tenant of their own and mails them a verification link, all or nothing. An address that is
 * in use answers 400 on `email`; if REGISTRATION_HIDE_EXISTING is set it answers 201 and mails the owner instead. With
 * an invitation's token, the person joins its tenant instead and the address is verified: 400 `invitation_invalid` for
 * a token that no longer works, 403 `email_mismatch` for an invitation to another address.
 */
export async function register(
  deps: Deps,
  requestInfo: RequestInfo,
  body: RegisterBody,
): Promise<{ id: string; email: string }> {
  const attempt = deps.config.REGISTRATION_HIDE_EXISTING ? registerUnseen : registerOrRefuse
  const { id, email } = await attempt(deps, requestInfo, body)
  return { id, email }
}

/** The same whatever the settings say: answers alike, and in the same time, for an address in use, and mails its owner. */
export async function registerUnseen(
  deps: Deps,
  requestInfo: RequestInfo,
  body: RegisterBody,
): Promise<NewPerson> {
  const { person, offer } = await prepare(deps, requestInfo, body)
  await padDuration(hiddenMs, async () => {
    if (!(await createAccount(deps, requestInfo, person, offer)))
      await mailAddressOwner(deps, person.email, requestInfo)
  })
  return person
}

async function registerOrRefuse(
  deps: Deps,
  requestInfo: RequestInfo,
  body: RegisterBody,
): Promise<NewPerson> {
  const { person, offer } = await prepare(deps, requestInfo, body)
  if (!(await createAccount(deps, requestInfo, person, offer))) throw addressInUse()
  return person
}

/** What comes before the first write: limits, the invitation, and the hash of the password. */
const prepare = (deps: Deps, requestInfo: RequestInfo, body: RegisterBody) =>
  deps.passwords.expecting(() => hashInTurn(deps, requestInfo, body))

async function hashInTurn(deps: Deps, requestInfo: RequestInfo, body: RegisterBody) {
  const { clock, passwords, limiters } = deps
  await limiters.take(registerUses(requestInfo.ip))
  const { email, first_name: firstName, last_name: lastName } = body
  const offer = await offerTo(deps, email, body.invitation_token)
  const tenants = offer ? tenantWords([offer]) : []
  refuseWeakPassword(deps, 'password', body.password, { email, firstName, lastName, tenants })
  const passwordHash = await passwords.hash(body.password)
  const person = { id: timeOrderedId(clock()), email, passwordHash, firstName, lastName }
  return { person, offer }
}

const addressInUse = () =>
  invalidField('email', 'This address has an account already. Sign in, or reset the password.', 'taken')

/** A person with the hash of the password that they chose. */
export type NewPerson = Person & { passwordHash: string }

/** False, and nothing is stored, if the address already has an account. */
function createAccount(
  deps: Deps,
  requestInfo: RequestInfo,
  person: NewPerson,
  offer: Offer | null,
): Promise<boolean> {
  const { id, email, firstName, lastName } = person
  const at = deps.clock()
  const tenantId = offer?.tenant_id ?? timeOrderedId(at)
  const founder = { id, email, firstName, lastName }
  return inTenant(deps.db, { tenantId, userId: id }, async (tx) => {
    if (!(await insertUser(tx, { ...person, at }))) return false
    if (!offer) await createPersonalTenant(tx, deps, { id: tenantId, founder, requestInfo, at })
    await recordRegistered(tx, { person: founder, tenantId, bySystem: false, requestInfo, at })
    const origin = { how: 'made', at } as const
    if (!offer) await mailVerificationLink(deps, tx, { userId: id, email, origin, tenantId, requestInfo, at })
    if (offer) await verifyByInvitation(tx, offer, { id, requestInfo, at })
    if (offer) await joinByInvitation(tx, offer, { person: founder, requestInfo, at })
    return true
  })
}

/** The offer of the invitation that the person registers with; null without a token. */
async function offerTo(deps: Deps, email: string, token: string | undefined): Promise<Offer | null> {
  if (token === undefined) return null
  const offer = await findLiveOffer(deps, token).catch((error) => {
    throw error instanceof ApiError && error.code === 'invitation_expired' ? invitationInvalid() : error
  })
  if (offer.email !== email) throw emailMismatch()
  return offer
}
