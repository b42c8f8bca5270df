import { isServiceAction } from '../../policy-engine/catalogue/actions.ts'
import type { Lane } from '../../policy-engine/evaluate/engine.ts'
import type { DecisionLog, DecisionRecord, PoliciesInForce, PolicyCache } from '../http/policies-in-force.ts'
import type { Metrics } from './metrics.ts'

/** Wraps an engine, or its lane: times each evaluation, and counts those that threw. */
export const measureEngine = <Engine extends Lane>(engine: Engine, metrics: Metrics): Engine => ({
  ...engine,
  decide(query) {
    try {
      const decision = engine.decide(query)
      metrics.evaluated(decision.durationUs / 1_000_000)
      return decision
    } catch (error) {
      metrics.evaluationFailed()
      throw error
    }
  },
})

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
    recordIn(tx, record) {
      const stored = log.recordIn(tx, record)
      stored?.then(() => count(record))
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
