import { readFile, writeFile } from 'node:fs/promises'
import { encodeHashedSet } from '../../crypto/hashed-set.ts'
import { breachedPasswordsFile, foldPassword } from '../../identity/auth/breached-passwords.ts'
import { defineCommand } from '../command.ts'
import { required } from '../options.ts'

export const passwordsBuild = defineCommand({
  name: 'passwords:build',
  about: 'Write the committed set of breached passwords, from a list and the common passwords of zxcvbn-ts',
  options: {
    list: required('<file>', 'Breached passwords, one per line, such as example.dict of hashcat'),
  },
  example: '--list example.dict',
  async run({ options: { list } }) {
    const data = await buildBreachedPasswords(list)
    return { data, text: `${data.passwords} passwords, ${data.bytes} bytes` }
  },
})

const minLength = 8
/** What people append to a short password until it is long enough. */
const paddings = ['1', '12', '123', '!']

/**
 * Writes the set of breached passwords from a list (one per line, UTF-8) and the 49,000 most common passwords of
 * zxcvbn-ts: those of eight characters or more, and the shorter common ones with each padding, if that makes them long
 * enough. Gives the number of passwords and bytes.
 */
async function buildBreachedPasswords(list: string): Promise<{ passwords: number; bytes: number }> {
  const { dictionary } = await import('@zxcvbn-ts/language-common') // a devDependency
  const common = dictionary['passwords-common'].map(foldPassword)
  const listed = (await readFile(list, 'utf8')).split(/\r?\n/).map(foldPassword)
  const padded = common.filter(isShort).flatMap((password) => paddings.map((padding) => password + padding))
  const passwords = new Set([...common, ...listed, ...padded].filter((password) => !isShort(password)))
  const file = encodeHashedSet(passwords)
  await writeFile(breachedPasswordsFile, file)
  return { passwords: passwords.size, bytes: file.length }
}

/** Counts code points, like the length check of passwords. */
const isShort = (password: string) => [...password].length < minLength
