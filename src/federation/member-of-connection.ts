import type { Tx } from '../database/executor/transaction.ts'
import type { Deps } from '../deps.ts'
import { orThrow } from '../identity/sign-in/outcome.ts'
import { checkWay } from '../identity/sign-in/way-in.ts'
import { findUser, findUserByEmail, type UserRow } from '../identity/users/store.ts'
import type { Connection } from '../request/caller.ts'
import { findVoucher } from '../tenancy/domains/store.ts'
import { listMembershipsOf } from '../tenancy/members/store.ts'

interface Named {
  /** The person to whom the identity is linked; null: to none yet. */
  knownId: string | null
  email: string | null
}

/**
 * The member of a connection's tenant whom it names: the one to whom the identity is linked, else the one with the address, if the
 * tenant can say whose the address is. Null for everyone else, so that a tenant that controls its provider reaches no person who is not
 * its member. A borrowed domain says nothing of an account that did not prove its address. Throws what refuses the member
 * ({@link checkWay}), before anything is linked. As the system role.
 */
export async function findMemberNamed(
  deps: Deps,
  tx: Tx,
  connection: Connection,
  { knownId, email }: Named,
): Promise<UserRow | null> {
  const { tenantId } = connection
  const account = knownId === null ? await findNamed(tx, tenantId, email) : await findUser(tx, knownId)
  if (!account) return null
  const membership = (await listMembershipsOf(tx, account.id)).find((one) => one.tenant_id === tenantId)
  if (membership?.membership_status !== 'active') return null
  orThrow(await checkWay(deps, tx, { userId: account.id, connection, membership, amr: ['fed'] }))
  return account
}

async function findNamed(tx: Tx, tenantId: string, email: string | null): Promise<UserRow | null> {
  const voucher = email === null ? null : await findVoucher(tx, tenantId, email)
  const account = voucher === null ? null : await findUserByEmail(tx, email!)
  return voucher === 'borrower' && account?.email_verified_at === null ? null : account
}
