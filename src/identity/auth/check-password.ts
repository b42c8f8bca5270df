import { readAsSystem } from '../../database/executor/read.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { invalidField } from '../../errors.ts'
import type { Caller } from '../../request/caller.ts'
import { guardPassword, type WrongPassword, wrongPassword } from '../rate-limits/guard-password.ts'
import type { Person } from '../sign-in/create-own-tenant.ts'
import { type Credentials, findCredentials, replacePassword } from '../users/store.ts'

/** A person whose password was right, with the hash it was compared with: that hash must still be theirs at sign-in. */
type ProvenPerson = Person & { passwordHash: string }

/**
 * Compares a password with the credentials of an address. {@link wrongPassword}, after the same time, for an unknown
 * address, a wrong password and an inactive person. Replaces a hash that has outdated parameters. Counts no failures:
 * see `guardPassword`.
 */
export async function checkPassword(
  deps: Deps,
  found: Credentials | null,
  password: string,
): Promise<ProvenPerson | WrongPassword> {
  const { db, passwords } = deps
  const right = await passwords.verify(found?.password_hash, password)
  if (!found || !right || !found.is_active) return wrongPassword
  const { id, email, first_name: firstName, last_name: lastName, password_hash: from } = found
  const person = { id, email, firstName, lastName }
  if (!passwords.isStale(from)) return { ...person, passwordHash: from }
  const to = await passwords.hash(password)
  const replaced = await asSystem(db, 'no person is logged in yet', (tx) =>
    replacePassword(tx, { id, from, to, setAt: null }),
  )
  if (replaced) return { ...person, passwordHash: to }
  // A parallel login already rehashed it, or the password was changed.
  const now = await readAsSystem(db, 'no person is logged in yet', (read) => findCredentials(read, email))
  return checkPassword(deps, now, password)
}

/**
 * Compares the caller's own password, which they repeat before a sensitive change; returns its hash. 400 on
 * `current_password` for a wrong password, which counts like a failed login: a stolen session must not allow guessing.
 */
export async function checkCurrentPassword(deps: Deps, caller: Caller, password: string): Promise<string> {
  const { email } = caller.auth.user
  const { requestInfo } = caller
  const outcome = await guardPassword(deps, { email, requestInfo }, async ({ found }) => {
    if (found?.id === caller.userId && (await deps.passwords.verify(found.password_hash, password)))
      return found.password_hash
    return wrongPassword
  })
  if (outcome === wrongPassword) throw wrongCurrentPassword()
  return outcome
}

/** 400 on `current_password`: it is not the current password. */
export const wrongCurrentPassword = () =>
  invalidField('current_password', 'This is not your current password.', 'wrong_password')
