import { readFileSync } from 'node:fs'
import { decodeHashedSet, type HashedSet } from '../../platform/crypto/hashed-set.ts'

/** Where `npm run cli -- passwords:build` puts the set. */
export const breachedPasswordsFile = new URL('breached-passwords.bin', import.meta.url)

let set: HashedSet | undefined

/**
 * Whether a password, in any case, is among those that were found in breaches, or is a short one of them padded to
 * eight characters. Of other passwords 1 in 28,000 is taken for one (see {@link HashedSet}). The set is read when it is
 * first asked: 300 KB of file, 600 KB of memory, some 20 ms.
 */
export function isBreachedPassword(password: string): boolean {
  set ??= decodeHashedSet(readFileSync(breachedPasswordsFile))
  return set.has(foldPassword(password))
}

/** The form in which passwords are in the set. */
export const foldPassword = (password: string) => password.normalize('NFKC').toLowerCase()
