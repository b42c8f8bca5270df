import { nilUuid } from '../crypto/uuid.ts'
import { inTenant } from '../database/executor/transaction.ts'
import type { Deps } from '../deps.ts'
import { ApiError } from '../errors.ts'
import type { RequestInfo } from '../http/request-info.ts'
import { hiddenMs } from '../identity/auth/mail-address-owner.ts'
import { padDuration } from '../identity/rate-limits/pad-duration.ts'
import { createInvitation } from '../tenancy/invitations/create-invitation.ts'
import { findInviter } from '../tenancy/invitations/store.ts'
import { findMemberId } from '../tenancy/members/person-store.ts'
import { findMember } from '../tenancy/members/store.ts'
import { holdGiving } from './connections/joining-store.ts'
import type { Standing } from './join-by-connection.ts'
import { isDeniedToJoin } from './may-join.ts'

/**
 * Mails an invitation to an address, of which the tenant cannot say whose it is, and gives the refusal of the sign-in. That is the same,
 * and takes as long, for every address: also for that of a member, one that was invited, and one that gets no more mails.
 */
export async function inviteInstead(
  deps: Deps,
  standing: Standing,
  email: string,
  requestInfo: RequestInfo,
): Promise<ApiError> {
  await padDuration(hiddenMs, () =>
    invite(deps, standing, email, requestInfo).catch((error) => {
      if (!(error instanceof ApiError && error.status < 500)) throw error
    }),
  )
  return new ApiError(
    403,
    'invitation_needed',
    'You are not a member of this organisation yet. If it can invite you, you get a mail. Open its link.',
    { cause: 'The address is in no verified domain of this tenant. Its mailbox gets an invitation.' },
  )
}

/** In the name of the activator of the connection, who has to be able to invite when the invitation is accepted, too. */
async function invite(
  deps: Deps,
  standing: Standing,
  email: string,
  requestInfo: RequestInfo,
): Promise<void> {
  const { connection, joining } = standing
  const { tenantId } = connection
  const userId = joining.activated_by
  const scope = { tenantId, userId, requestInfo }
  if (await isDeniedToJoin(deps, 'invitation:create', { ...standing, ...scope, userId: nilUuid, email }))
    return
  await deps.limiters.mailing(scope, email, () =>
    inTenant(deps.db, scope, async (tx) => {
      const [giving, membership, id] = await Promise.all([
        holdGiving(tx, connection),
        findInviter(tx, tenantId, userId),
        findMemberId(tx, tenantId, userId),
      ])
      const inviter = id && (await findMember(tx, tenantId, id))
      if (giving?.jit !== 'verified_domains' || !membership || !inviter) return
      const { first_name: firstName, last_name: lastName, email_verified: emailVerified } = inviter
      const user = { email: inviter.email, emailVerified, firstName, lastName }
      const body = { email, message: '', department_id: null, external_id: null, roles: ['member'] }
      await createInvitation(tx, deps, { ...scope, auth: { user, membership, scopes: null } }, body)
    }),
  )
}
