import type { Deps } from '../../deps.ts'
import { readAsSystem } from '../../platform/db/read.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { invalidField, unauthorized } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { guardPassword } from '../rate-limits/guard-password.ts'
import { findCredentials, replacePassword } from '../users/store.ts'

/** Whose password was right. */
export interface Person {
  id: string
  email: string
  firstName: string
  lastName: string
}

/** With the hash it was compared with, which has to be in force still when a session begins. */
export type Proven = Person & { passwordHash: string }

/** 401, the same for an unknown address, a wrong password and an inactive person. */
export const invalidCredentials = () =>
  unauthorized('invalid_credentials', 'No active account has this address and password.')

/**
 * Gives the person whose address and password these are. 401 `invalid_credentials` in the same form and time for
 * unknown, wrong and inactive. A hash of older parameters is replaced on the way. Counts nothing: see attemptLogin.
 */
export async function checkPassword(
  deps: Deps,
  { email, password }: { email: string; password: string },
): Promise<Proven> {
  const { db, passwords } = deps
  const found = await readAsSystem(db, 'nobody is logged in yet', (read) => findCredentials(read, email))
  const right = await passwords.verify(found?.password_hash, password)
  if (!found || !right || !found.is_active) throw invalidCredentials()
  const { id, email: address, first_name: firstName, last_name: lastName, password_hash: from } = found
  const person = { id, email: address, firstName, lastName }
  if (!passwords.isStale(from)) return { ...person, passwordHash: from }
  const to = await passwords.hash(password)
  const replaced = await asSystem(db, 'nobody is logged in yet', (tx) =>
    replacePassword(tx, { id, from, to }),
  )
  // Another login of theirs was quicker, or the password is another by now.
  return replaced ? { ...person, passwordHash: to } : checkPassword(deps, { email, password })
}

/**
 * Compares the caller's own password, which they repeat for something grave; gives its hash. 400 on
 * `current_password` for a wrong one, which counts as a failed login does: whoever holds a session may not guess.
 */
export function checkCurrentPassword(deps: Deps, caller: Caller, password: string): Promise<string> {
  const { email } = caller.auth.user
  return guardPassword(deps, { email, requestInfo: caller.requestInfo }, 'validation_error', async () => {
    const found = await asSystem(deps.db, 'hashes are read by no other role', (tx) =>
      findCredentials(tx, email),
    )
    if (found?.id === caller.userId && (await deps.passwords.verify(found.password_hash, password)))
      return found.password_hash
    throw wrongCurrentPassword()
  })
}

/** 400 on `current_password`: it is not the one in force. */
export const wrongCurrentPassword = () =>
  invalidField('current_password', 'This is not your current password.', 'wrong_password')
