import { decisionTurn } from '../../../limits/decision-time.ts'
import type { DecisionPoint } from '../../../policy-engine/evaluate/engine.ts'
import type { PoliciesInForce, PolicyCache } from '../../../request/policies-in-force.ts'

/**
 * Wraps the cache: a request whose tenant has modules waits until they can run, for two seconds at most, because a decision
 * does not wait for them. Of several such requests, one or a few continue in each turn of the event loop.
 */
export function readyModules<P extends PoliciesInForce>(
  cache: PolicyCache<P>,
  access: Pick<DecisionPoint, 'warmModules'>,
): PolicyCache<P> {
  const prepare = async (policies: P) => {
    if (policies.modules.length === 0) return policies
    await access.warmModules(policies.modules)
    await decisionTurn()
    return policies
  }
  return {
    ...cache,
    load(scope, revision) {
      const policies = cache.load(scope, revision)
      if (policies instanceof Promise) return policies.then(prepare)
      return policies.modules.length === 0 ? policies : prepare(policies)
    },
  }
}
