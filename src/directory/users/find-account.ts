import { unusableHash } from '../../crypto/passwords.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { listLinking } from '../../federation/connections/directory-store.ts'
import { resetPassword } from '../../identity/auth/reset-password.ts'
import { findUserByEmail } from '../../identity/users/store.ts'
import { actorOf } from '../../messages/audit/append-audit.ts'
import type { Caller } from '../../request/caller.ts'
import { findVoucher } from '../../tenancy/domains/store.ts'
import { findPerson, type Person } from '../../tenancy/members/person-store.ts'
import { isDenied } from './join-user.ts'
import { isOfMember } from './store.ts'

/** Who has the address of a User that is no member yet. */
export interface Account {
  /** The tenant has verified the domain of the address, so that it can say whose the address is. */
  isVouched: boolean
  /** The person with this address, which they have proven; null for none. */
  person: Person | null
  /** The tenant has connections whose subject the directory knows. */
  hasLinking: boolean
  /** The person was deactivated by an operator. */
  isDeactivated: boolean
}

/**
 * Finds the person who has an address. One that is not proven yet is proven by the tenant's verified domain: the account
 * starts anew, without what its maker set up, as after a reset by an operator. Nothing changes for an address of a member, nor
 * where a policy denies the service account to add members.
 */
export function findAccount(deps: Deps, caller: Caller, email: string): Promise<Account> {
  const { tenantId, requestInfo } = caller
  const at = deps.clock()
  return asSystem(deps.db, 'a directory names people who belong to other tenants as yet', async (tx) => {
    const [found, voucher, isMember, linking] = await Promise.all([
      findUserByEmail(tx, email),
      findVoucher(tx, tenantId, email),
      isOfMember(tx, tenantId, email),
      listLinking(tx, tenantId),
    ])
    const isVouched = voucher === 'owner'
    const hasLinking = linking.length > 0
    if (!found) return { isVouched, hasLinking, person: null, isDeactivated: false }
    const { id, first_name: firstName, email_verified_at } = found
    const starts = isVouched && !isMember && email_verified_at === null && found.is_active
    if (starts && !isDenied(caller, 'member:create', email)) {
      const proof = { person: { id, email, firstName }, passwordHash: unusableHash() }
      const voucher = actorOf(caller)
      await resetPassword(deps, tx, { ...proof, tenantId, bySystem: true, voucher, requestInfo, at })
    }
    return { isVouched, hasLinking, person: await findPerson(tx, id), isDeactivated: !found.is_active }
  })
}
