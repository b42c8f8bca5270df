import { readFile, writeFile } from 'node:fs/promises'
import { breachedPasswordsFile, foldPassword } from '../identity/auth/breached-passwords.ts'
import { encodeHashedSet } from '../platform/crypto/hashed-set.ts'

const shortest = 8
/** What people add to a short password that they know, until it is long enough. */
const paddings = ['1', '12', '123', '!']

/**
 * Writes the set of breached passwords from a list (one a line, UTF-8) and the 49,000 most common passwords of
 * zxcvbn-ts: those of eight characters or more, and the common ones that are shorter, padded to that length. Gives how
 * many passwords and bytes it has.
 */
export async function buildBreachedPasswords(list: string): Promise<{ passwords: number; bytes: number }> {
  const { dictionary } = await import('@zxcvbn-ts/language-common') // for development alone
  const common = dictionary['passwords-common'].map(foldPassword)
  const listed = (await readFile(list, 'utf8')).split(/\r?\n/).map(foldPassword)
  const padded = common.filter(isShort).flatMap((password) => paddings.map((padding) => password + padding))
  const passwords = new Set([...common, ...listed, ...padded].filter((password) => !isShort(password)))
  const file = encodeHashedSet(passwords)
  await writeFile(breachedPasswordsFile, file)
  return { passwords: passwords.size, bytes: file.length }
}

/** In code points, as the length of a password is counted. */
const isShort = (password: string) => [...password].length < shortest
