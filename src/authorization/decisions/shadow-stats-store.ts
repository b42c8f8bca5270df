import { z } from 'zod'
import { deleteOld } from '../../database/delete-old.ts'
import type { Read } from '../../database/executor/read.ts'
import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'

const counted = ['evaluated', 'applied', 'would_deny', 'would_allow', 'would_gate', 'errors'] as const

/** Decisions for which a policy in shadow mode was evaluated, and of these what it would have done. */
export type ShadowCounts = Record<(typeof counted)[number], number>

export const noCounts = (): ShadowCounts =>
  Object.fromEntries(counted.map((name) => [name, 0])) as ShadowCounts

/** Counts of one version of a policy on one day (UTC, `2026-11-21`). */
export interface CountsOfDay {
  tenantId: string
  policyId: string
  version: number
  day: string
  counts: ShadowCounts
}

/** Adds counts of any tenants, in one order, so that two processes do not wait for each other. As the system role. */
export async function addShadowCounts(tx: Tx, added: readonly CountsOfDay[], at: number): Promise<void> {
  const inOrder = added.toSorted(
    (a, b) =>
      compare(a.tenantId, b.tenantId) ||
      compare(a.policyId, b.policyId) ||
      compare(a.day, b.day) ||
      a.version - b.version,
  )
  const rows = inOrder.map(({ tenantId, policyId, version, day, counts }) => [
    tenantId,
    timeOrderedId(at),
    policyId,
    version,
    day,
    ...counted.map((name) => counts[name]),
  ])
  for (const values of listsOfValues(rows))
    tx.later(sql.unsafe`
    insert into policy_stats as s (tenant_id, id, policy_id, version, day, evaluated, applied, would_deny, would_allow,
                                   would_gate, errors)
    ${values}
    on conflict (tenant_id, policy_id, day, version) do update set
      evaluated = s.evaluated + excluded.evaluated, applied = s.applied + excluded.applied,
      would_deny = s.would_deny + excluded.would_deny, would_allow = s.would_allow + excluded.would_allow,
      would_gate = s.would_gate + excluded.would_gate, errors = s.errors + excluded.errors`)
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

const statsRow = z.object({
  day: z.string(),
  version: z.number(),
  evaluated: z.number(),
  applied: z.number(),
  would_deny: z.number(),
  would_allow: z.number(),
  would_gate: z.number(),
  errors: z.number(),
})

const maxRows = 1_000

/** The counts of a policy by day and version, newest first; 1,000 at most. */
export function listShadowCounts(
  read: Read,
  tenantId: string,
  policyId: string,
): Promise<readonly z.infer<typeof statsRow>[]> {
  return read.any(sql.type(statsRow)`
    select to_char(day, 'YYYY-MM-DD') as day, version, evaluated, applied, would_deny, would_allow, would_gate, errors
    from policy_stats where tenant_id = ${tenantId} and policy_id = ${policyId}
    order by policy_stats.day desc, version desc limit ${maxRows}`)
}

/** Deletes at most `max` counts of days before `before` (ms since 1970); returns how many. As the worker role. */
export const deleteShadowCountsBefore = (tx: Tx, before: number, max: number): Promise<number> =>
  deleteOld(tx, { table: 'policy_stats', column: 'day', before: sql.fragment`${instant(before)}::date` }, max)
