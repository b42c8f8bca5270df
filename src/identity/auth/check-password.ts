import type { Deps } from '../../deps.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { invalidField, unauthorized } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { guardPassword } from '../guards/guard-password.ts'
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
 * unknown, wrong and inactive. A hash of older parameters is replaced on the way. Counts nothing: see attemptLogin.
 */
export async function checkPassword(
  { db, passwords }: Deps,
  { email, password }: { email: string; password: string },
): Promise<Person> {
  const found = await asSystem(db, 'nobody is logged in yet', (tx) => findCredentials(tx, email))
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

/**
 * Compares the caller's own password, which they repeat for something grave; gives its hash. 400 on
 * `current_password` for a wrong one, which counts as a failed login does: whoever holds a session may not guess.
 */
export function checkCurrentPassword(deps: Deps, actor: Actor, password: string): Promise<string> {
  const { email } = actor.standing.user
  return guardPassword(deps, { email, origin: actor.origin }, 'validation_error', async () => {
    const found = await asSystem(deps.db, 'hashes are read by no other role', (tx) =>
      findCredentials(tx, email),
    )
    if (found?.id === actor.userId && (await deps.passwords.verify(found.password_hash, password)))
      return found.password_hash
    throw wrongCurrentPassword()
  })
}

/** 400 on `current_password`: it is not the one in force. */
export const wrongCurrentPassword = () =>
  invalidField('current_password', 'This is not your current password.', 'wrong_password')
