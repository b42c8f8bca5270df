import { readFileSync } from 'node:fs'
import { decodeHashedSet, type HashedSet } from '../../crypto/hashed-set.ts'

/** The file that `npm run cli -- passwords:build` writes. */
export const breachedPasswordsFile = new URL('breached-passwords.bin', import.meta.url)

let set: HashedSet | undefined

/**
 * Whether a password, in any case, is known from breaches, or is a short one of those padded to eight characters. One in
 * 28,000 other passwords is a false positive (see {@link HashedSet}). The set is read at the first call: 300 KB of file,
 * 600 KB of memory, about 20 ms.
 */
export function isBreachedPassword(password: string): boolean {
  set ??= decodeHashedSet(readFileSync(breachedPasswordsFile))
  return set.has(foldPassword(password))
}

/** The form in which the set stores passwords. */
export const foldPassword = (password: string) => password.normalize('NFKC').toLowerCase()
