import { unusableHash } from '../../crypto/passwords.ts'
import { inTenant } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { createPersonalTenant } from '../../tenancy/tenants/create-tenant.ts'
import { recordVerified } from '../email-verification/record-verified.ts'
import { markProven } from '../users/address-store.ts'
import { recordRegistered } from '../users/record-registered.ts'
import { insertUser } from '../users/store.ts'

interface NewPerson {
  email: string
  firstName: string
  lastName: string
  /** Whether the address is proven. */
  isProven: boolean
}

/**
 * Makes a person whom another provider names, without a password, and a tenant of their own. Null, and nothing is stored, if
 * the address has an account.
 */
export async function makePerson(
  deps: Deps,
  requestInfo: RequestInfo,
  { email, firstName, lastName, isProven }: NewPerson,
): Promise<{ id: string; tenantId: string } | null> {
  const at = deps.clock()
  const [id, tenantId] = [timeOrderedId(at), timeOrderedId(at)]
  const person = { id, email, firstName, lastName }
  return inTenant(deps.db, { tenantId, userId: id }, async (tx) => {
    if (!(await insertUser(tx, { ...person, passwordHash: unusableHash(), at }))) return null
    await createPersonalTenant(tx, deps, { id: tenantId, founder: person, requestInfo, at })
    await recordRegistered(tx, { person, tenantId, bySystem: false, requestInfo, at })
    if (isProven && (await markProven(tx, { id, email, at })))
      await recordVerified(tx, { userId: id, email, tenantId, requestInfo, at })
    return { id, tenantId }
  })
}
