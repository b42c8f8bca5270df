import { randomInt, randomUUID } from 'node:crypto'

const maxCounters = 10_000
const counters = new Map<number, number>()

/**
 * A UUIDv7 for the time `at` (ms since 1970). Ids of one process and one millisecond ascend (RFC 9562 §6.2, method 1, a
 * counter of 26 bits), so the events of one transaction keep their order, also when ids of a later time are made
 * between.
 */
export function timeOrderedId(at: number): string {
  const counter = nextCounter(at)
  const time = at.toString(16).padStart(12, '0')
  const high = (0x7000 | (counter >>> 14)).toString(16)
  const low = (0x8000 | (counter & 0x3fff)).toString(16)
  // The last 48 bits are random. Node draws those of 128 UUIDs at a time, which randomBytes would do for each.
  const random = randomUUID().slice(24)
  return `${time.slice(0, 8)}-${time.slice(8)}-${high}-${low}-${random}`
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
