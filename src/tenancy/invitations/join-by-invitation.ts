import { hashOneTimeToken } from '../../crypto/one-time-token.ts'
import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, notFound } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { nameMember } from '../members/name-member.ts'
import { findMember, insertMember, type MemberRow, raiseMember } from '../members/store.ts'
import { firstExcess, holds } from '../roles/grantable-roles.ts'
import { assertDomainAllowed } from '../tenants/email-domains.ts'
import {
  type Accepted,
  findInviter,
  findOffer,
  findOfferTo,
  lockRolesById,
  markAccepted,
  type Offer,
} from './store.ts'

export const invitationInvalid = () =>
  new ApiError(
    400,
    'invitation_invalid',
    'This invitation is not valid: it was used, replaced or cancelled, or it never existed. Ask for a new one.',
  )

const invitationExpired = () =>
  new ApiError(400, 'invitation_expired', 'This invitation has expired. Ask the tenant to send it again.')

export const emailMismatch = () =>
  new ApiError(403, 'email_mismatch', 'This invitation is for another address than yours.')

/**
 * Finds the invitation of a token while it can be accepted. 400 `invitation_expired` when it has expired, else 400
 * `invitation_invalid`; 403 when the tenant is suspended or archived.
 */
export async function findLiveOffer({ db, clock }: Deps, token: string): Promise<Offer> {
  const offer = await asSystem(db, 'the holder of the token need not be logged in', (tx) =>
    findOffer(tx, hashOneTimeToken(token)),
  )
  if (!offer) throw invitationInvalid()
  return assertLive(offer, clock())
}

/**
 * Finds an invitation to a person by its id, as {@link findLiveOffer} by its token. 404 for one to another address, and while theirs
 * is not verified.
 */
export async function findLiveOfferTo(
  { db, clock }: Deps,
  { email, emailVerified }: { email: string; emailVerified: boolean },
  id: string,
): Promise<Offer> {
  const offer = emailVerified
    ? await asSystem(db, 'invitations to a person come from many tenants', (tx) => findOfferTo(tx, email, id))
    : null
  if (!offer) throw notFound('No invitation to your verified address has this id.')
  return assertLive(offer, clock())
}

function assertLive(offer: Offer, now: number): Offer {
  if (offer.tenant_deleted) throw invitationInvalid()
  if (offer.status === 'accepted' || offer.status === 'cancelled') throw invitationInvalid()
  if (offer.status === 'expired' || offer.expires_at <= now) throw invitationExpired()
  const { tenant_status: status } = offer
  if (status !== 'active') throw new ApiError(403, `tenant_${status}`, `This tenant is ${status}.`)
  return offer
}

interface Newcomer {
  person: { id: string; email: string; firstName: string; lastName: string }
  requestInfo: RequestInfo
  decisionId?: string | undefined
  at: number
}

/**
 * Makes a person a member by an invitation; the caller has checked that the invitation is for their address. The scope
 * must be the tenant and the person. A person who was a member when they were invited, with an address that they had
 * not proved, gets the roles in addition; 409 `already_member` for every other member. 400 `invitation_invalid` when
 * the invitation is no longer valid, when a role is gone or has permissions that the inviter now lacks, when the
 * inviter can no longer give the department or the `external_id`, when another member has this name by now, and when
 * the inviter is no longer an active member. That the inviter had the permission to invite is not checked again: a
 * policy can have allowed it, so only the engine could decide, and here the inviter is not logged in.
 */
export async function joinByInvitation(tx: Tx, offer: Offer, newcomer: Newcomer): Promise<MemberRow> {
  const { person, at } = newcomer
  const { tenant_id: tenantId, id, send_count: sendCount } = offer
  await lockTenant(tx, tenantId)
  const accepted = await markAccepted(tx, { tenantId, id, sendCount, userId: person.id, at })
  if (!accepted) throw invitationInvalid()
  assertDomainAllowed(offer.allowed_email_domains, person.email, 'email')
  const roleIds = await assertStillGivable(tx, tenantId, accepted)
  const { department_id: departmentId, external_id: externalId, created_at: joinedBy } = accepted
  const given = { tenantId, userId: person.id, roleIds, departmentId, at }
  const newId = await insertMember(tx, { ...given, id: null, accepts: true })
  const isNew = newId !== null
  const memberId = newId ?? (await raiseMember(tx, { ...given, joinedBy }))
  if (memberId === null) throw new ApiError(409, 'already_member', 'You are already a member of this tenant.')
  // As roles are added and none is taken away: a name that the member has stays.
  const isUnnamed = isNew || (await findMember(tx, tenantId, memberId))?.external_id === null
  if (externalId !== null && isUnnamed)
    await nameMember(tx, { tenantId, memberId, externalId }, invitationInvalid)
  await recordJoined(tx, offer, { memberId, isNew }, newcomer)
  const member = await findMember(tx, tenantId, memberId)
  if (!member) throw new Error('The new member cannot be read')
  return member
}

/**
 * Gives the ids of the roles. Throws 400 if the inviter could no longer give them, the department or the `external_id`.
 */
async function assertStillGivable(
  tx: Tx,
  tenantId: string,
  { role_ids, department_id, external_id, membership_id, invited_by }: Accepted,
): Promise<string[]> {
  const inviter = await findInviter(tx, tenantId, invited_by)
  const roles = await lockRolesById(tx, tenantId, role_ids)
  // What SCIM itself gives. An adopted invitation can give more, and its inviter must hold that.
  const isPlain = department_id === null && roles.every((role) => role.is_system && role.name === 'member')
  if (membership_id !== null && inviter && isPlain && holds(inviter, 'scim:provision'))
    return roles.map(({ id }) => id)
  const describes = department_id !== null || external_id !== null
  if (!inviter || (describes && !holds(inviter, 'policy:update'))) throw invitationInvalid()
  if (roles.length < role_ids.length || firstExcess(inviter, roles)) throw invitationInvalid()
  return role_ids
}

async function recordJoined(
  tx: Tx,
  offer: Offer,
  { memberId, isNew }: { memberId: string; isNew: boolean },
  newcomer: Newcomer,
): Promise<void> {
  const { person, requestInfo, decisionId, at } = newcomer
  const { tenant_id: tenantId, id } = offer
  const { requestId } = requestInfo
  const event = {
    tenantId,
    actorId: person.id,
    requestId,
    traceparent: requestInfo.traceparent ?? undefined,
    at,
  }
  await appendEvent(tx, {
    ...event,
    type: 'tenant.invitation_accepted',
    subject: id,
    data: { invitation_id: id },
  })
  await appendEvent(tx, {
    ...event,
    type: isNew ? 'tenant.member_added' : 'tenant.member_updated',
    subject: memberId,
    data: { membership_id: memberId, user_id: person.id },
  })
  await appendAudit(tx, {
    tenantId,
    actor: person,
    requestInfo,
    ...(decisionId && { decisionId }),
    action: 'invitation:accept',
    target: { type: 'invitation', id },
    changes: {
      status: { before: 'pending', after: 'accepted' },
      membership_id: { before: null, after: memberId },
    },
    at,
  })
}
