import type { Caller } from '../../platform/http/caller.ts'
import { showMember } from './member-schemas.ts'
import type { MemberRow } from './store.ts'

/** Decides the action of the request about this member; throws 403. */
export const permitMember = (caller: Caller, member: MemberRow): void =>
  caller.permit({ type: 'member', id: member.id, ownerId: member.user_id, fields: showMember(member) })
