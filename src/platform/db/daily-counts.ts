import { z } from 'zod'
import type { Statements } from './statements.ts'
import { sql } from './transaction.ts'

const countRow = z.object({ tenant_id: z.string(), used: z.number() })

/** The UTC day of a time (ms since 1970): `2026-11-21`. */
export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

/**
 * Adds to each tenant's use of a daily limit on the day of `at` (ms since 1970); gives the new totals. The rows are
 * locked in one order until the transaction ends. A time of an earlier day counts for the current day.
 */
export async function addToDay(
  statements: Statements,
  kind: 'decisions' | 'deliveries',
  added: ReadonlyMap<string, number>,
  at: number,
): Promise<Map<string, number>> {
  if (added.size === 0) return new Map()
  const rows = await statements.any(sql.type(countRow)`
    insert into daily_counts as c (tenant_id, kind, day, used)
    select tenant_id, ${kind}, ${dayOf(at)}::date, used
    from ${sql.unnest([...added], ['uuid', 'int8'])} as n (tenant_id, used) order by tenant_id
    on conflict (tenant_id, kind) do update set
      day = greatest(c.day, excluded.day),
      used = excluded.used + case when c.day < excluded.day then 0 else c.used end
    returning tenant_id, used`)
  return new Map(rows.map(({ tenant_id, used }) => [tenant_id, used]))
}
