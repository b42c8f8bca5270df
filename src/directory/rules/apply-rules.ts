import type { Tx } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import type { AuditActor, Changes } from '../../messages/audit/append-audit.ts'
import { appendEvents } from '../../messages/outbox/append-event.ts'
import { causedBy } from '../../messages/outbox/caused-by.ts'
import type { Caller } from '../../request/caller.ts'
import { applyRules, type Concerned, listRolesHeld } from '../../tenancy/members/given-store.ts'
import { assertCanChange } from '../../tenancy/members/keep-owners.ts'
import { findRolesOfGroup } from './store.ts'

/** A larger change has the event of its group or rule alone, so that a group of 50,000 is changed at once. */
const maxEvents = 1_000

/** Gives members what the rules say, and records whom that changed. What stands in the audit row of the change. */
export async function giveAndRecord(
  tx: Tx,
  actor: AuditActor,
  which: Concerned,
  at: number,
): Promise<Changes> {
  const changed = await applyRules(tx, actor.tenantId, which, at)
  if (changed.length === 0) return {}
  if (changed.length <= maxEvents)
    await appendEvents(
      tx,
      { ...causedBy(actor, at), type: 'tenant.member_updated' },
      changed.map(({ id, user_id }) => ({ subject: id, data: { membership_id: id, user_id } })),
    )
  return { members_changed: { before: null, after: changed.length } }
}

/** The names of the roles that the members of a group have. Throws 403 if the caller cannot change one of them, who is above the caller. */
export async function rolesToChange(tx: Tx, caller: Caller, groupId: string): Promise<string[]> {
  const granted = await listRolesHeld(tx, caller.tenantId, { group: groupId })
  assertCanChange(caller, { id: groupId, user_id: null, granted })
  return granted.map(({ name }) => name)
}

/** Throws 403 where a policy denies the directory to change members who get or lose what this group gives. */
export async function assertMayGive(
  tx: Tx,
  caller: Caller,
  groupId: string,
  which: Concerned,
): Promise<void> {
  const given = await findRolesOfGroup(tx, caller.tenantId, groupId)
  if (given === null) return
  const held = await listRolesHeld(tx, caller.tenantId, which)
  const roles = [...new Set([...given, ...held.map(({ name }) => name)])]
  if (caller.denies('member:update', { type: 'member', fields: { roles } }))
    throw new ApiError(403, 'permission_denied', 'A policy denies the directory member:update.')
}
