import type { Deps } from '../../deps.ts'
import { readAsSystem } from '../../platform/db/read.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { unauthorized } from '../../platform/errors.ts'
import { findCredentials, replaceStaleHash } from '../users/store.ts'

/** Whose password was right. */
export interface Person {
  id: string
  email: string
  firstName: string
  lastName: string
}

const invalidCredentials = () =>
  unauthorized('invalid_credentials', 'No active account has this address and password.')

/**
 * Gives the person whose address and password these are. 401 `invalid_credentials` in the same form and time for
 * unknown, wrong and inactive. A hash of older parameters is replaced on the way.
 */
export async function checkPassword(
  { db, passwords }: Deps,
  { email, password }: { email: string; password: string },
): Promise<Person> {
  const found = await readAsSystem(db, 'nobody is logged in yet', (read) => findCredentials(read, email))
  const right = await passwords.verify(found?.password_hash, password)
  if (!found || !right || !found.is_active) throw invalidCredentials()
  if (passwords.isStale(found.password_hash)) {
    const fresh = await passwords.hash(password)
    await asSystem(db, 'nobody is logged in yet', (tx) =>
      replaceStaleHash(tx, found.id, found.password_hash, fresh),
    )
  }
  return { id: found.id, email: found.email, firstName: found.first_name, lastName: found.last_name }
}
