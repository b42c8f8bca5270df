import { unusableHash } from '../../crypto/passwords.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import type { AuditedActor } from '../../messages/audit/append-audit.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Person } from '../../tenancy/members/person-store.ts'
import { recordRegistered } from './record-registered.ts'
import { insertUser } from './store.ts'

interface Vouched {
  email: string
  firstName: string
  lastName: string
  /** The tenant that vouches for the address. */
  tenantId: string
  /** Who makes the person; null: they do, by a sign-in. */
  voucher: AuditedActor | null
  requestInfo: RequestInfo
  at: number
}

/** Makes a person without a password, for whose address a tenant vouches, as the scope of the transaction; null if the address has an account by now. */
export async function makeVouchedPerson(
  tx: Tx,
  { email, firstName, lastName, voucher, ...of }: Vouched,
): Promise<Person | null> {
  const { at } = of
  const id = timeOrderedId(at)
  const person = { id, email, firstName, lastName }
  tx.addScope('user', id)
  if (!(await insertUser(tx, { ...person, passwordHash: unusableHash(), isProven: true, at }))) return null
  await recordRegistered(tx, { ...of, person, bySystem: voucher !== null, ...(voucher && { voucher }) })
  return { ...person, emailVerified: true, isActive: true, dateJoined: at, version: 1 }
}
