import { randomBytes, randomInt } from 'node:crypto'

const maxCounters = 10_000
const counters = new Map<number, number>()

/**
 * A UUIDv7 for the time `at` (ms since 1970). Ids of one process and one millisecond ascend (RFC 9562 §6.2, method 1, a
 * counter of 26 bits), so the events of one transaction keep their order, also when ids of a later time are made
 * between.
 */
export function timeOrderedId(at: number): string {
  const counter = nextCounter(at)
  const bytes = randomBytes(16)
  bytes.writeUIntBE(at, 0, 6)
  bytes.writeUInt16BE(0x7000 | (counter >>> 14), 6)
  bytes.writeUInt16BE(0x8000 | (counter & 0x3fff), 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** A UUID below every {@link timeOrderedId} of the time `at` (ms since 1970) and above those of earlier times. */
export const earliestId = (at: number): string =>
  `${Math.max(0, at).toString(16).padStart(12, '0')}70008000000000000000`.replace(
    /^(.{8})(.{4})(.{4})(.{4})/,
    '$1-$2-$3-$4-',
  )

/** Keeps the counters of the last 10,000 milliseconds, which is longer than any transaction uses one time. */
function nextCounter(at: number): number {
  const counter = (counters.get(at) ?? randomInt(2 ** 24)) + 1
  counters.set(at, counter)
  if (counters.size > maxCounters) counters.delete(counters.keys().next().value!)
  return counter
}
