import { inTenant } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { makeOwner } from '../../tenancy/members/make-owner.ts'
import { createPersonalTenant, createTenantWithOwner } from '../../tenancy/tenants/create-tenant.ts'
import { findTenant, type NamedTenant } from '../../tenancy/tenants/store.ts'
import { recordVerified } from '../email-verification/record-verified.ts'
import { markProven } from '../users/address-store.ts'
import { recordRegistered } from '../users/record-registered.ts'
import { insertUser } from '../users/store.ts'
import type { Admin, AdminDeps } from './create-admin.ts'

interface Ownership {
  person: { id: string; email: string; firstName: string; lastName: string }
  /** The password of a new person; undefined if the person exists. */
  passwordHash: string | undefined
  /** The existing tenant; null to create one, called `name`, or a personal tenant. */
  named: NamedTenant | null
  membershipId: string | null
  name: string | undefined
}

/** Makes a new or existing person an owner of a new or existing tenant, all or nothing. */
export async function grantOwnership(
  deps: AdminDeps,
  requestInfo: RequestInfo,
  { person, passwordHash, named, membershipId, name }: Ownership,
): Promise<Admin['tenant']> {
  const { db, clock } = deps
  const at = clock()
  const tenantId = named?.id ?? timeOrderedId(at)
  return inTenant(db, { tenantId, userId: person.id }, async (tx) => {
    if (passwordHash !== undefined && !(await insertUser(tx, { ...person, passwordHash, at })))
      throw new ApiError(409, 'changed', 'They registered just now. Run the command again.')
    const founding = { id: tenantId, founder: person, bySystem: true, requestInfo, at }
    if (named) await makeOwner(tx, { tenant: named, person, membershipId, requestInfo, at })
    else if (name === undefined) await createPersonalTenant(tx, deps, founding)
    else await createTenantWithOwner(tx, deps, { ...founding, name, slug: undefined })
    if (passwordHash !== undefined) {
      const { id, email } = person
      await recordRegistered(tx, { person, tenantId, bySystem: true, requestInfo, at })
      await markProven(tx, { id, email, at })
      await recordVerified(tx, { userId: id, email, tenantId, bySystem: true, requestInfo, at })
    }
    const tenant = await findTenant(tx, tenantId, person.id)
    if (!tenant) throw new Error('The new owner cannot read the tenant back')
    return { id: tenant.id, name: tenant.name, slug: tenant.slug, outcome: named ? 'joined' : 'created' }
  })
}
