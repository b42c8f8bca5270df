import type { Deps } from '../../deps.ts'
import { asSystem, inTenant } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { recordEntry } from '../../tenancy/members/store.ts'
import { createPersonalTenant } from '../../tenancy/tenants/create-tenant.ts'

export interface Person {
  id: string
  email: string
  firstName: string
  lastName: string
}

/** Creates the personal tenant of a person who no longer belongs to any tenant; returns its id. */
export async function createOwnTenant(
  deps: Pick<Deps, 'db' | 'clock' | 'setUpTenant'>,
  founder: Person,
  requestInfo: RequestInfo,
): Promise<string> {
  const at = deps.clock()
  const id = timeOrderedId(at)
  await inTenant(deps.db, { tenantId: id, userId: founder.id }, (tx) =>
    createPersonalTenant(tx, deps, { id, founder, requestInfo, at }),
  )
  return id
}

/** Creates a personal tenant after the first proof of a person's address, and lets the next login enter it. */
export async function createFreshTenant(
  deps: Pick<Deps, 'db' | 'clock' | 'setUpTenant'>,
  founder: Person,
  requestInfo: RequestInfo,
): Promise<void> {
  const tenantId = await createOwnTenant(deps, founder, requestInfo)
  await asSystem(deps.db, 'a login chooses its tenant before one is known', (tx) =>
    recordEntry(tx, { tenantId, userId: founder.id, at: deps.clock() }),
  )
}
