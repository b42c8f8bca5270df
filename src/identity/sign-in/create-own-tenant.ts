import { asSystem, inTenant } from '../../database/executor/transaction.ts'
import { willChange } from '../../database/locks.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { recordEntry } from '../../tenancy/members/store.ts'
import { createPersonalTenant } from '../../tenancy/tenants/create-tenant.ts'
import { claimOwnTenant } from '../users/store.ts'

export interface Person {
  id: string
  email: string
  firstName: string
  lastName: string
}

type CreateDeps = Pick<Deps, 'clock' | 'setUpTenant'> & { db: Pick<Deps['db'], 'api' | 'system'> }

const dayMs = 86_400_000

/**
 * Creates the personal tenant of a person who no longer belongs to any tenant; returns its id. Null, and nothing is created,
 * if that was done in the last 24 hours: a person who deletes it each time would fill the database. A link from a mail that
 * opened the account since makes one more possible, once a day, because a thief can have used up the first.
 */
export function createOwnTenantOnceADay(
  deps: CreateDeps,
  founder: Person,
  requestInfo: RequestInfo,
): Promise<string | null> {
  const at = deps.clock()
  const id = timeOrderedId(at)
  return inTenant(deps.db, { tenantId: id, userId: founder.id }, async (tx) => {
    willChange(tx, founder.id)
    if (!(await claimOwnTenant(tx, { userId: founder.id, tenantId: id, since: at - dayMs, at }))) return null
    await createPersonalTenant(tx, deps, { id, founder, requestInfo, at })
    return id
  })
}

/**
 * Creates a personal tenant after the first proof of a person's address at `provenAt`, and lets the next login enter it.
 */
export async function createFreshTenant(
  deps: CreateDeps,
  founder: Person,
  requestInfo: RequestInfo,
  provenAt: number,
): Promise<void> {
  // Otherwise it could count as from before the proof.
  const at = Math.max(deps.clock(), provenAt + 1)
  const tenantId = timeOrderedId(at)
  await inTenant(deps.db, { tenantId, userId: founder.id }, (tx) =>
    createPersonalTenant(tx, deps, { id: tenantId, founder, requestInfo, at }),
  )
  await asSystem(deps.db, 'a login chooses its tenant before one is known', (tx) =>
    recordEntry(tx, { tenantId, userId: founder.id, at }),
  )
}
