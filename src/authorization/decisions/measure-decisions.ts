import type { Logger } from 'pino'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { isServiceAction } from '../../policy-engine/catalogue/actions.ts'
import type { DecisionPoint } from '../../policy-engine/evaluate/engine.ts'
import { type EndedTask, endedTasks } from '../../policy-engine/sandbox/module-pool.ts'
import type {
  DecisionLog,
  DecisionRecord,
  PoliciesInForce,
  PolicyCache,
} from '../../request/policies-in-force.ts'

/** Wraps an engine, or its part for trials: times each evaluation, and counts those that threw. */
export const measureEngine = <Engine extends DecisionPoint>(engine: Engine, metrics: Metrics): Engine => ({
  ...engine,
  decide(query) {
    try {
      const decision = engine.decide(query)
      metrics.evaluated(decision.durationUs / 1_000_000)
      for (const { why } of decision.late ?? []) metrics.moduleLate(why)
      return decision
    } catch (error) {
      metrics.evaluationFailed()
      throw error
    }
  },
})

/** Counts and logs each module that took too long and so ended a thread of this process. Returns a function that ends it. */
export function measureEndedModules(metrics: Metrics, log: Logger): () => void {
  const note = (message: unknown) => {
    const { tenantId, policyId, version, isInForce } = message as EndedTask
    metrics.moduleEnded()
    const about = { tenant_id: tenantId, policy_id: policyId, version, in_force: isInForce }
    log.warn(about, 'a module took too long, and its thread ends')
  }
  endedTasks.subscribe(note)
  return () => void endedTasks.unsubscribe(note)
}

/** Wraps the log: counts each decision. Actions that tenants define for their applications share one name. */
export function measureLog(log: DecisionLog, metrics: Metrics): DecisionLog {
  const count = ({ query, decision }: DecisionRecord) =>
    metrics.decided(isServiceAction(query.action) ? query.action : 'application', decision.effect)
  return {
    ...log,
    record(...records) {
      for (const record of records) count(record)
      return log.record(...records)
    },
    recordIn(tx, ...records) {
      const stored = log.recordIn(tx, ...records)
      stored?.then(() => records.forEach(count))
      return stored
    },
  }
}

/** Wraps the cache: counts whether policies were in memory or had to be read. */
export function measurePolicies<P extends PoliciesInForce>(
  cache: PolicyCache<P>,
  metrics: Metrics,
): PolicyCache<P> {
  return {
    ...cache,
    load(scope, revision) {
      const policies = cache.load(scope, revision)
      metrics.policiesFound(!(policies instanceof Promise))
      return policies
    },
  }
}
