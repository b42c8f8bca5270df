import { z } from 'zod'
import { readInTenant } from '../../../database/executor/read.ts'
import type { Deps } from '../../../deps.ts'
import type { Caller } from '../../../request/caller.ts'
import { listShadowCounts } from '../../decisions/store.ts'
import type { PolicyTarget } from '../read-policy.ts'

const count = z.int()

export const policyStats = z
  .object({
    policy_id: z.uuid(),
    days: z.array(
      z.object({
        day: z.iso.date().meta({ description: 'In UTC' }),
        version: z.int(),
        evaluated: count.meta({ description: 'Decisions that the policy could concern' }),
        applied: count.meta({ description: 'Decisions in which it would have had a part' }),
        would_deny: count,
        would_allow: count,
        would_gate: count,
        errors: count,
      }),
    ),
  })
  .meta({ id: 'PolicyStats' })

/** What a policy in shadow mode would have done, by day and version, newest first. */
export async function showStats(deps: Deps, caller: Caller, { row }: PolicyTarget) {
  // Other processes write their counts within seconds; this one has just decided, so its counts are written first.
  await deps.shadowCounts.flush()
  const days = await readInTenant(deps.db, caller, (read) => listShadowCounts(read, caller.tenantId, row.id))
  return { policy_id: row.id, days: [...days] }
}
