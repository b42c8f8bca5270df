import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import type { MembershipToEnd } from '../../tenancy/members/store.ts'
import { erasePerson, lockPersonWithTenants, logErased, tenantsOwnedAlone } from './erase-person.ts'
import { findPersonBy } from './store.ts'

interface Erasing {
  person: { id: string } | { email: string }
  by: 'oneself' | 'operator'
  requestInfo: RequestInfo
}

/** The result: `tenantsDeleted` are the slugs of tenants that had no other member. */
export interface Erased {
  id: string
  tenantsDeleted: string[]
  tenantsLeft: number
}

/**
 * Erases a person ({@link erasePerson}). Null if there is no such person; 409 `last_owner` with `tenants[]` if they are
 * the only owner of a tenant that has other members.
 */
export async function eraseUser(
  { db, clock, log }: Pick<Deps, 'clock' | 'log'> & { db: Pick<Deps['db'], 'system'> },
  { person, by, requestInfo }: Erasing,
): Promise<Erased | null> {
  const at = clock()
  const erased = await asSystem(db, 'a person is erased in every tenant', async (tx) => {
    const found = await findPersonBy(tx, person)
    const locked = found && (await lockPersonWithTenants(tx, found.id))
    if (!locked) return null
    const ownerless = tenantsOwnedAlone(locked)
    if (ownerless.length > 0) throw lastOwner(ownerless)
    return { id: locked.id, ...(await erasePerson(tx, locked, { by, requestInfo, at })) }
  })
  if (erased) logErased({ log }, [erased.id])
  return erased
}

function lastOwner(ownerless: readonly MembershipToEnd[]): ApiError {
  const tenants = ownerless.map(({ tenant_id: id, name, slug }) => ({ id, name, slug }))
  return new ApiError(
    409,
    'last_owner',
    `Others belong to tenants of which this is the only owner: ${tenants.map(({ slug }) => slug).join(', ')}. Make another member an owner there, or delete these tenants.`,
    { members: { tenants } },
  )
}
