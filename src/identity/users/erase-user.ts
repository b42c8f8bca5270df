import type { Deps } from '../../deps.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import type { MembershipToEnd } from '../../tenancy/members/store.ts'
import { erasePerson, holdPersonWithTenants, logErased, tenantsOwnedAlone } from './erase-person.ts'
import { findUser, findUserByEmail } from './store.ts'

export interface Erasing {
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
    const found = 'id' in person ? await findUser(tx, person.id) : await findUserByEmail(tx, person.email)
    const held = found && (await holdPersonWithTenants(tx, found.id))
    if (!held) return null
    const ownerless = tenantsOwnedAlone(held)
    if (ownerless.length > 0) throw lastOwner(ownerless)
    return { id: held.id, ...(await erasePerson(tx, held, { by, requestInfo, at })) }
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
