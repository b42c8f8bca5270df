import { createHash } from 'node:crypto'

// A set of texts that stores only the first 32 bits of each text's SHA-256, sorted. A text that is not in a set of n
// members is taken for a member with a probability of n / 2^32.
//
// In a file, each value is a Rice code (RFC 9043 §3.8.2.1: Golomb-Rice) of its distance from the value before,
// split into a quotient in unary and a remainder of k bits. Hashes are spread evenly, so the size is within 3% of
// the minimum. The file begins with k (1 byte) and n (4 bytes, big-endian).

const headLength = 5

/** A set that compares hashes of texts. */
export interface HashedSet {
  readonly size: number
  has(text: string): boolean
}

const hashOf = (text: string) => createHash('sha256').update(text).digest().readUInt32BE()

/** The file of a set. The order of the texts does not matter. */
export function encodeHashedSet(texts: Iterable<string>): Buffer {
  const hashes = Uint32Array.from(new Set(Array.from(texts, hashOf))).sort()
  const k = Math.max(0, Math.floor(Math.log2((2 ** 32 / (hashes.length || 1)) * Math.LN2)))
  const bits = bitWriter()
  let before = 0
  for (const hash of hashes) {
    const distance = hash - before
    before = hash
    for (let quotient = Math.floor(distance / 2 ** k); quotient > 0; quotient--) bits.write(1)
    bits.write(0)
    for (let bit = k - 1; bit >= 0; bit--) bits.write((distance >>> bit) & 1)
  }
  const head = Buffer.alloc(headLength)
  head.writeUInt8(k)
  head.writeUInt32BE(hashes.length, 1)
  return Buffer.concat([head, bits.end()])
}

/** Reads the file of a set. Throws when the file is cut short. */
export function decodeHashedSet(file: Buffer): HashedSet {
  const k = file.readUInt8()
  const size = file.readUInt32BE(1)
  const hashes = new Uint32Array(size)
  const bits = Buffer.concat([file, Buffer.alloc(8)])
  let at = headLength * 8
  /** The next 32 bits. */
  const ahead = () => {
    const byte = at >>> 3
    const shift = at & 7
    return ((bits.readUInt32BE(byte) << shift) | (bits[byte + 4]! >>> (8 - shift))) >>> 0
  }
  let before = 0
  for (let i = 0; i < size; i++) {
    let quotient = 0
    for (let ones = 32; ones === 32; quotient += ones, at += ones) ones = Math.clz32(~ahead())
    at++
    before += quotient * 2 ** k + (k === 0 ? 0 : ahead() >>> (32 - k))
    at += k
    if (at > file.length * 8) throw new Error('The file of hashes ends too early')
    hashes[i] = before
  }
  return { size, has: (text) => includes(hashes, hashOf(text)) }
}

function bitWriter() {
  const bytes: number[] = []
  let byte = 1 // a marker bit before the data bits: a value of 256 or more means that eight bits are complete
  return {
    write(bit: number) {
      byte = (byte << 1) | bit
      if (byte < 256) return
      bytes.push(byte & 255)
      byte = 1
    },
    end() {
      while (byte !== 1) this.write(0)
      return Buffer.from(bytes)
    },
  }
}

function includes(sorted: Uint32Array, value: number): boolean {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if (sorted[middle]! < value) from = middle + 1
    else to = middle
  }
  return sorted[from] === value
}
