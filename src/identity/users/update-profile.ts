import type { Deps } from '../../deps.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import type { Versions } from '../../platform/db/version.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { preconditionFailed } from '../../platform/http/etag.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { copyProfile } from '../../tenancy/members/store.ts'
import { isUserAmong, updateNames } from './store.ts'

export interface ProfileChange {
  first_name?: string | undefined
  last_name?: string | undefined
}

/**
 * Changes the caller's names, with one event, and nothing at all when they are what they were. 412 where the row is
 * of none of `versions`.
 */
export async function updateProfile(
  { db, clock }: Deps,
  actor: Actor,
  change: ProfileChange,
  versions: Versions,
): Promise<void> {
  const { userId, tokenTenantId, standing, origin } = actor
  const firstName = change.first_name ?? standing.user.firstName
  const lastName = change.last_name ?? standing.user.lastName
  const at = clock()
  await asSystem(db, 'a name shows in every tenant of its person', async (tx) => {
    const updated = await updateNames(tx, { id: userId, firstName, lastName, at }, versions)
    if (!updated && !(await isUserAmong(tx, userId, versions))) throw preconditionFailed()
    if (!updated) return
    await copyProfile(tx, { id: userId, email: updated.email, firstName, lastName })
    await appendEvent(tx, {
      type: 'identity.user_updated',
      tenantId: tokenTenantId,
      subject: userId,
      data: { user_id: userId },
      actorId: userId,
      requestId: origin.requestId,
      at,
    })
  })
}
