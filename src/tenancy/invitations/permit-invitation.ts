import type { Caller } from '../../platform/http/caller.ts'
import { showInvitation } from './invitation-schemas.ts'
import type { InvitationRow } from './store.ts'

/** Decides the action of the request about this invitation, as it is before; throws 403. */
export const permitInvitation = (caller: Caller, invitation: InvitationRow): void =>
  caller.permit({
    type: 'invitation',
    id: invitation.id,
    ownerId: invitation.invited_by,
    fields: showInvitation(invitation),
  })
