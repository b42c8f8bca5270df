import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { base62, base62OfUuid, uuidOfBase62 } from '../../crypto/base62.ts'

// A key is `bwk_`, 22 characters for its id, 43 for 256 random bits, and 6 for the CRC-32 of all that, in base 62 with
// the most significant digit first. The checksum lets anybody recognise a key without asking the service, and refuses
// what is no key before the database is asked.

const form = /^bwk_[0-9A-Za-z]{71}$/
const idEnd = 4 + 22
const secretEnd = idEnd + 43

/** A key to hand out, and the SHA-256 of it to store. `id` is the UUID of its row. */
export function makeKey(id: string): { key: string; hash: Buffer } {
  const secret = BigInt(`0x${randomBytes(32).toString('hex')}`)
  const body = `${prefixOf(id)}${base62(secret, 43)}`
  const key = body + checksum(body)
  return { key, hash: hashOf(key) }
}

/** Whether a text is meant as a key; it can still be a wrong one. */
export const isKeyLike = (text: string): boolean => text.startsWith('bwk_')

/** The id and the hash of a key; null for a text that no service gave out. */
export function readKey(text: string): { id: string; hash: Buffer } | null {
  if (!form.test(text) || text.slice(secretEnd) !== checksum(text.slice(0, secretEnd))) return null
  const id = uuidOfBase62(text.slice(4, idEnd))
  return id === null ? null : { id, hash: hashOf(text) }
}

/** The public beginning of a key: it says which key it is, and gives no access. */
export const prefixOf = (id: string): string => `bwk_${base62OfUuid(id)}`

const hashOf = (key: string): Buffer => hash('sha256', key, 'buffer')

const checksum = (body: string): string => base62(BigInt(crc32(body)), 6)
