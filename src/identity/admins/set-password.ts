import { asSystem } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { listMembershipsOf } from '../../tenancy/members/store.ts'
import { resetPassword } from '../auth/reset-password.ts'
import { createFreshTenant } from '../sign-in/create-own-tenant.ts'
import { findPersonBy } from '../users/store.ts'
import type { AdminDeps } from './create-admin.ts'
import { changed, inactive } from './refused-accounts.ts'

const noTenant = () =>
  new ApiError(
    409,
    'no_active_membership',
    'This person belongs to no tenant, which the events of a password need. Let them reset it: that mail makes a tenant.',
  )

/**
 * Replaces the password of a person for an operator who vouches for them, as a mailed link does ({@link resetPassword}); null
 * if there is none with that address or id. If the address was not verified yet, the person gets a fresh tenant. Factors that
 * count stay: users:reset-factors removes them. `tenantFault` is why the tenant was not made: the password holds then, too.
 * 409 `no_active_membership`, `inactive`, `changed`.
 */
export async function setPassword(
  deps: Omit<AdminDeps, 'config'>,
  requestInfo: RequestInfo,
  { person, password }: { person: { email: string } | { id: string }; password: string },
): Promise<{ user: { id: string; email: string }; tenantFault: Error | null } | null> {
  const passwordHash = await deps.passwords.hash(password)
  const at = deps.clock()
  const reset = await asSystem(deps.db, 'an operator sets the password of a person', async (tx) => {
    const user = await findPersonBy(tx, person)
    if (!user) return null
    if (!user.is_active) throw inactive()
    const [home] = await listMembershipsOf(tx, user.id)
    if (!home) throw noTenant()
    const { id, email, first_name: firstName, last_name: lastName } = user
    const named = { id, email, firstName, lastName }
    const whole = { person: named, passwordHash, tenantId: home.tenant_id, bySystem: true, requestInfo, at }
    const proof = await resetPassword(deps, tx, whole)
    if (!proof) throw changed()
    return { ...proof, named }
  })
  if (!reset) return null
  const { isFirst, named } = reset
  const tenantFault = isFirst
    ? await createFreshTenant(deps, named, requestInfo, at).then(
        () => null,
        (error: Error) => error,
      )
    : null
  return { user: { id: named.id, email: named.email }, tenantFault }
}
