import {
  createCipheriv,
  pbkdf2 as pbkdf2WithCallback,
  type ScryptOptions,
  scrypt as scryptWithCallback,
  timingSafeEqual,
} from 'node:crypto'
import { promisify } from 'node:util'

// Hashes of passwords that other products made, as `users:import` takes them. Each is verified once: the login replaces it by
// argon2id with our parameters. The bounds keep a login from costing more than about a second.
//
//   $2a$10$…                                                  bcrypt, as Auth0 and Supabase write it
//   $argon2id$v=19$m=19456,t=2,p=1$salt$hash                  PHC
//   $scrypt$ln=14,r=16,p=1$salt$hash                          PHC; better-auth
//   $pbkdf2-sha512$i=210000$salt$hash                         PHC; Keycloak (also sha256)
//   $firebase-scrypt$ln=14,r=8,ss=…,sk=…$salt$hash            Firebase: `ss` is the salt separator, `sk` the signer key
//
// Bytes are in base64, with or without `=` at the end.

const scryptOf = promisify<string, Buffer, number, ScryptOptions, Buffer>(scryptWithCallback)
const pbkdf2Of = promisify(pbkdf2WithCallback)

const most = {
  bcryptCost: 14,
  pbkdf2Iterations: 2_000_000,
  /** Memory, and memory times lanes. */
  scryptBytes: 64 * 1024 * 1024,
  scryptWork: 128 * 1024 * 1024,
  keyBytes: 64,
  argon2Kib: 256 * 1024,
  /** Memory in KiB, times passes. */
  argon2Work: 1024 * 1024,
}

type Verify = (password: string) => Promise<boolean>

/** Why a text is no hash that a login can verify; null if it is one. The sentence goes after the name of the field. */
export function hashFault(text: string): string | null {
  try {
    if (text.startsWith('$argon2id$')) assertArgon2(text)
    else parse(text)
    return null
  } catch (error) {
    if (error instanceof HashFault) return error.message
    throw error
  }
}

/** Whether a password has a hash that is not argon2id's. Throws for a text that {@link hashFault} refuses. */
export const verifyForeign = (text: string, password: string): Promise<boolean> => parse(text)(password)

class HashFault extends Error {}

const forms =
  'must be a hash of bcrypt ($2b$…), argon2id, scrypt, PBKDF2 with SHA-256 or SHA-512, or Firebase: see docs/how-to/import-people.md'

function parse(text: string): Verify {
  if (/^\$2[aby]\$/.test(text)) return bcryptHash(text)
  const [empty, kind, ...rest] = text.split('$')
  const read = empty === '' && kind !== undefined ? kinds[kind] : undefined
  if (!read) throw new HashFault(forms)
  return read(rest)
}

type Read = (parts: readonly string[]) => Verify

const kinds: Record<string, Read> = {
  scrypt: scryptHash,
  'pbkdf2-sha256': pbkdf2Hash('sha256'),
  'pbkdf2-sha512': pbkdf2Hash('sha512'),
  'firebase-scrypt': firebaseHash,
}

function bcryptHash(text: string): Verify {
  if (!/^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/.test(text))
    throw new HashFault('is cut off, or no hash of bcrypt')
  atMost('the cost', Number(text.slice(4, 6)), most.bcryptCost)
  return async (password) => {
    const { compare } = await import('bcrypt')
    // PHP writes $2y$ for what others call $2b$.
    return compare(password, text.replace(/^\$2y/, '$2b'))
  }
}

function assertArgon2(text: string): void {
  const [, , , parameters] = text.split('$')
  if (!/^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]{11,}\$[A-Za-z0-9+/]{16,}$/.test(text))
    throw new HashFault('is no hash of argon2id of version 19')
  const { m, t, p } = numbersOf(parameters)
  atMost('the memory in KiB (m)', m!, most.argon2Kib)
  atMost('the memory in KiB times the passes (m · t)', m! * t!, most.argon2Work)
  atMost('the lanes (p)', p!, 16)
}

function scryptHash(parts: readonly string[]): Verify {
  const { parameters, salt, key } = phc(parts, ['ln', 'r', 'p'])
  const options = scryptOptions(parameters)
  const matches = async (password: string) =>
    timingSafeEqual(await scryptOf(password, salt, key.length, options), key)
  return async (password) => {
    if (await matches(password)) return true
    const normalised = password.normalize('NFKC') // as better-auth does first
    return normalised !== password && matches(normalised)
  }
}

function scryptOptions({ ln = 0, r = 0, p = 1 }: Record<string, number>): ScryptOptions {
  if (ln < 1 || ln > 20 || r < 1 || p < 1) throw new HashFault('has an ln, r or p that is none of scrypt')
  const bytes = 128 * 2 ** ln * r
  atMost('the memory in bytes (128 · 2^ln · r)', bytes, most.scryptBytes)
  atMost('the memory times the lanes (p)', bytes * p, most.scryptWork)
  return { N: 2 ** ln, r, p, maxmem: bytes * 2 + 1024 * 1024 }
}

function pbkdf2Hash(digest: 'sha256' | 'sha512'): Read {
  return (parts) => {
    const { parameters, salt, key } = phc(parts, ['i'])
    const iterations = parameters.i!
    if (iterations < 1) throw new HashFault('has no iterations (i)')
    atMost('the iterations (i)', iterations, most.pbkdf2Iterations)
    return async (password) =>
      timingSafeEqual(await pbkdf2Of(password, salt, iterations, key.length, digest), key)
  }
}

/** Firebase encrypts its signer key with the key that scrypt gives (github.com/firebase/scrypt). */
function firebaseHash(parts: readonly string[]): Verify {
  const { parameters, texts, salt, key } = phc(parts, ['ln', 'r'])
  const options = scryptOptions(parameters)
  const signer = bytesOf('the signer key (sk)', texts.sk)
  const separator = bytesOf('the salt separator (ss)', texts.ss)
  if (key.length !== signer.length) throw new HashFault('has not the length of the signer key (sk)')
  return async (password) => {
    const derived = await scryptOf(password, Buffer.concat([salt, separator]), 64, options)
    const cipher = createCipheriv('aes-256-ctr', derived.subarray(0, 32), Buffer.alloc(16))
    return timingSafeEqual(Buffer.concat([cipher.update(signer), cipher.final()]), key)
  }
}

function phc(parts: readonly string[], wanted: readonly string[]) {
  const [list = '', salt, hash] = parts
  if (parts.length !== 3) throw new HashFault(forms)
  const parameters = numbersOf(list)
  const missing = wanted.find((name) => !Number.isSafeInteger(parameters[name]))
  if (missing) throw new HashFault(`has no whole number ${missing}`)
  const key = bytesOf('the hash', hash)
  if (key.length < 16 || key.length > most.keyBytes)
    throw new HashFault('has a hash of less than 16 or more than 64 bytes')
  return { parameters, texts: textsOf(list), salt: bytesOf('the salt', salt), key }
}

const textsOf = (list: string): Record<string, string> =>
  Object.fromEntries(
    list.split(',').map((pair) => {
      const at = pair.indexOf('=')
      return [pair.slice(0, at), pair.slice(at + 1)]
    }),
  )

const numbersOf = (list = ''): Record<string, number> =>
  Object.fromEntries(
    Object.entries(textsOf(list)).map(([name, text]) => [
      name,
      /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN,
    ]),
  )

function bytesOf(what: string, text = ''): Buffer {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) throw new HashFault(`does not have ${what} in base64`)
  return Buffer.from(text, 'base64')
}

function atMost(what: string, value: number, limit: number): void {
  if (!(value <= limit)) throw new HashFault(`costs too much to verify: ${what} may be ${limit} at most`)
}
