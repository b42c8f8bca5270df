import { randomBytes, randomInt } from 'node:crypto'

let lastMoment = -1
let counter = 0

/**
 * A UUIDv7 of the moment `at` (ms since 1970). Ids of one process and one millisecond ascend (RFC 9562 §6.2,
 * method 1, a counter of 26 bits), so events of one transaction keep their order.
 */
export function timeOrderedId(at: number): string {
  counter = at === lastMoment ? counter + 1 : randomInt(2 ** 24)
  lastMoment = at
  const bytes = randomBytes(16)
  bytes.writeUIntBE(at, 0, 6)
  bytes.writeUInt16BE(0x7000 | (counter >>> 14), 6)
  bytes.writeUInt16BE(0x8000 | (counter & 0x3fff), 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
