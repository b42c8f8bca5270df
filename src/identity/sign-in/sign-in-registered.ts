import { hash } from 'node:crypto'
import { readAsSystem } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { signInUses } from '../rate-limits/limits.ts'
import { findCredentials } from '../users/store.ts'
import { type FactorDue, type Opened, orThrow } from './outcome.ts'
import { signIn } from './sign-in.ts'

/** An account that a browser registered. `passwordDigest` is a {@link digestOf}, for the browser to keep. */
export interface Registered {
  userId: string
  email: string
  passwordDigest: string
}

/** SHA-256 of a password's hash, in base64url: with it alone, no password can be guessed offline. */
export const digestOf = (passwordHash: string): string => hash('sha256', passwordHash, 'base64url')

/**
 * Signs in a person who registered in this browser and has proven the address since: as after the password that they chose
 * there, while it is still theirs. Null if the address is not proven, or the password is another one. 403, 429 as a login.
 */
export async function signInRegistered(
  deps: Deps,
  requestInfo: RequestInfo,
  { userId, email, passwordDigest }: Registered,
): Promise<Opened | FactorDue | null> {
  const found = await readAsSystem(deps.db, 'no person is logged in yet', (read) =>
    findCredentials(read, email),
  )
  if (found?.id !== userId || !found.email_verified || digestOf(found.password_hash) !== passwordDigest)
    return null
  await deps.limiters.take(signInUses(email))
  const { first_name: firstName, last_name: lastName, password_hash: passwordHash } = found
  const person = { id: userId, email, firstName, lastName }
  const factor = { kind: 'password', passwordHash, attempt: null } as const
  const outcome = await signIn(deps, { person, factor, tenantId: null, requestInfo })
  return outcome.kind === 'not_shown' ? null : orThrow(outcome)
}
