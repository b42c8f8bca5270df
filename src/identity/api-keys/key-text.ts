import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

// A key is `bwk_`, 22 characters for its id, 43 for 256 random bits, and 6 for the CRC-32 of all that, in base 62 with
// the most significant digit first. The checksum lets anybody recognise a key without asking the service, and refuses
// what is no key before the database is asked.

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const form = /^bwk_[0-9A-Za-z]{71}$/
const idEnd = 4 + 22
const secretEnd = idEnd + 43
const maxId = 2n ** 128n

/** A key to hand out, and the SHA-256 of it to store. `id` is the UUID of its row. */
export function makeKey(id: string): { key: string; hash: Buffer } {
  const number = BigInt(`0x${id.replaceAll('-', '')}`)
  const secret = BigInt(`0x${randomBytes(32).toString('hex')}`)
  const body = `bwk_${base62(number, 22)}${base62(secret, 43)}`
  const key = body + checksum(body)
  return { key, hash: hashOf(key) }
}

/** Whether a text is meant as a key; it can still be a wrong one. */
export const isKeyLike = (text: string): boolean => text.startsWith('bwk_')

/** The id and the hash of a key; null for a text that no service gave out. */
export function readKey(text: string): { id: string; hash: Buffer } | null {
  if (!form.test(text) || text.slice(secretEnd) !== checksum(text.slice(0, secretEnd))) return null
  const number = [...text.slice(4, idEnd)].reduce(
    (sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)),
    0n,
  )
  if (number >= maxId) return null
  const hex = number.toString(16).padStart(32, '0')
  return { id: hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'), hash: hashOf(text) }
}

/** The public beginning of a key: it says which key it is, and gives no access. */
export const prefixOf = (id: string): string => `bwk_${base62(BigInt(`0x${id.replaceAll('-', '')}`), 22)}`

const hashOf = (key: string): Buffer => hash('sha256', key, 'buffer')

const checksum = (body: string): string => base62(BigInt(crc32(body)), 6)

function base62(number: bigint, length: number): string {
  let text = ''
  for (let rest = number; rest > 0n; rest /= 62n) text = digits[Number(rest % 62n)] + text
  return text.padStart(length, '0')
}
