import { z } from 'zod'
import { listsOfValues } from './executor/rows.ts'
import type { Statements } from './executor/statements.ts'
import { sql } from './executor/transaction.ts'

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
  const day = dayOf(at)
  const inOrder = [...added].sort(([a], [b]) => (a < b ? -1 : 1))
  const lists = listsOfValues(inOrder.map(([tenantId, used]) => [tenantId, kind, day, used]))
  const totals = await Promise.all(
    lists.map((values) =>
      statements.any(sql.type(countRow)`
    insert into daily_counts as c (tenant_id, kind, day, used) ${values}
    on conflict (tenant_id, kind) do update set
      day = greatest(c.day, excluded.day),
      used = excluded.used + case when c.day < excluded.day then 0 else c.used end
    returning tenant_id, used`),
    ),
  )
  return new Map(totals.flat().map(({ tenant_id, used }) => [tenant_id, used]))
}
