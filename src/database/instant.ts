import { sql } from 'slonik'

type Instant = ReturnType<typeof sql.timestamp>

/** A time (ms since 1970) as a value of a statement; null stays null. */
export function instant(ms: number): Instant
export function instant(ms: number | null): Instant | null
export function instant(ms: number | null): Instant | null {
  return ms === null ? null : sql.timestamp(new Date(ms))
}
