import { deleteDecisionsBefore } from '../src/authorization/decisions/store.ts'
import type { WorkerDeps } from './deps.ts'
import { inBatches } from './in-batches.ts'
import { defineScheduled } from './schedule.ts'

const day = 86_400_000

/** Deletes what was decided so long ago that nobody may ask for it any more. */
export const decisionRetention = defineScheduled({
  name: 'decision-retention',
  queue: 'decision-retention',
  every: 3_600_000,
  lockDuration: 60_000,
  run: async (deps) => ({ decisions: await forgetDecisions(deps) }),
})

/** Deletes the decisions of all tenants that are older than `DECISION_RETENTION_DAYS`; gives how many. */
export function forgetDecisions(deps: Pick<WorkerDeps, 'db' | 'clock' | 'config'>): Promise<number> {
  const before = deps.clock() - deps.config.DECISION_RETENTION_DAYS * day
  return inBatches(deps, (tx, most) => deleteDecisionsBefore(tx, before, most))
}
