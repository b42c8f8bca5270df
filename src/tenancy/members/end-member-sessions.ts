import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { invalidState } from '../../errors.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { endGrantsButConsents } from '../../messages/logouts/store.ts'
import type { Caller } from '../../request/caller.ts'
import { assertCanChange, type Changed } from './keep-owners.ts'
import { endSessionsOfMember, type MemberRow } from './store.ts'

/**
 * Ends a member's sessions in this tenant: their tokens for it are refused from the next request on, until they log in
 * again. In other tenants the sessions continue. 403 for a member above the caller, 409
 * `invalid_state` for a service account.
 */
export async function endMemberSessions(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  member: MemberRow & Changed,
): Promise<void> {
  const { tenantId } = caller
  const { id, user_id, status } = member
  const at = clock()
  assertCanChange(caller, member)
  if (user_id === null)
    throw invalidState('A service account has no sessions: revoke its keys, or disable it.', status)
  // Ending them again is never refused, so it must not fill the logs.
  if (!(await endSessionsOfMember(tx, { tenantId, id, at }))) return
  await endGrantsButConsents(tx, { tenantId, userId: user_id }, at)
  await recordChange(tx, caller, at, {
    event: 'tenant.member_sessions_ended',
    data: { membership_id: id, user_id },
    action: 'member:update',
    target: { type: 'member', id },
    changes: { sessions: { before: 'live', after: 'ended' } },
  })
}
