import type { Tx } from '../database/executor/transaction.ts'
import type { Deps } from '../deps.ts'
import { ApiError } from '../errors.ts'
import type { KnownIdentity } from '../identity/federated/store.ts'
import { orThrow } from '../identity/sign-in/outcome.ts'
import { checkWay } from '../identity/sign-in/way-in.ts'
import { findUser, findUserByEmail, type UserRow } from '../identity/users/store.ts'
import type { Connection } from '../request/caller.ts'
import { findVoucher } from '../tenancy/domains/store.ts'
import { listMembershipsOf } from '../tenancy/members/store.ts'
import type { Found, Said } from './settle.ts'
import type { Upstream } from './upstream.ts'

/** An upstream as the connection that it is; null: a provider of the installation. */
export const connectionOf = ({ id, tenantId }: Pick<Upstream, 'id' | 'tenantId'>): Connection | null =>
  tenantId === null ? null : { id, tenantId }

/** When the provider saw a second factor, in ms since 1970; null: it saw none, or did not say when. */
export const mfaAtOf = ({ amr, authTime }: Said, at: number): number | null =>
  amr.includes('mfa') && authTime !== null ? Math.min(authTime, at) : null

/**
 * The member of a connection's tenant whom it names: the one to whom the identity is linked, else the one with the address, if the
 * tenant can say whose the address is. A borrowed domain says nothing of an account that did not prove its address. Refuses everyone
 * else with 403 `sign_in_refused`, so that a tenant that controls its provider reaches no person who is not its member, and throws
 * what refuses the member ({@link checkWay}), before anything is linked. As the system role.
 */
export async function findByConnection(
  deps: Deps,
  tx: Tx,
  connection: Connection,
  { email }: Said,
  known: KnownIdentity | null,
): Promise<Found> {
  const { tenantId } = connection
  const account = known ? await findUser(tx, known.user_id) : await findNamed(tx, tenantId, email)
  if (!account) throw signInRefused(noMember)
  const membership = (await listMembershipsOf(tx, account.id)).find((one) => one.tenant_id === tenantId)
  if (membership?.membership_status !== 'active') throw signInRefused(noMember)
  orThrow(await checkWay(deps, tx, { userId: account.id, connection, membership, amr: ['fed'] }))
  return { known, account, waitsFor: null }
}

async function findNamed(tx: Tx, tenantId: string, email: string | null): Promise<UserRow | null> {
  const voucher = email === null ? null : await findVoucher(tx, tenantId, email)
  const account = voucher === null ? null : await findUserByEmail(tx, email!)
  return voucher === 'borrower' && account?.email_verified_at === null ? null : account
}

// The same for every person who is not an active member: it says nothing of accounts elsewhere.
const noMember =
  'No active member is linked to this account, or has its address proved, in a verified domain of this tenant.'

/** `reason`: a sentence for those who look after a connection. */
export const signInRefused = (reason?: string) =>
  new ApiError(403, 'sign_in_refused', 'This account cannot sign in with this provider.', { cause: reason })
