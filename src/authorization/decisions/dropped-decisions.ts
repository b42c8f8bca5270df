import type { Logger } from 'pino'
import type { DecisionRecord } from '../../platform/http/policies-in-force.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { sumPerMinute } from '../../platform/sum-per-minute.ts'

/** Why a decision was not kept: the tenant's day is full, more wait than can be written, or Postgres refused it. */
export type DropReason = 'daily_limit' | 'backlog' | 'failed'

/** Counts decisions that are not kept, and logs them: a line per tenant and minute, with how many were denials or gates. */
export function countDropped(metrics: Pick<Metrics, 'decisionDropped'>, log: Logger) {
  const tell = sumPerMinute<{ count: number; denials: number }>((tenant_id, sums) =>
    log.warn({ tenant_id, ...sums }, 'decisions of a tenant are not kept'),
  )
  return ({ query, decision }: DecisionRecord, reason: DropReason): void => {
    metrics.decisionDropped(decision.effect, reason)
    tell(query.subject.tenantId, { count: 1, denials: decision.effect === 'allow' ? 0 : 1 }, query.now)
  }
}
