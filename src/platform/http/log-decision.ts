import type { ActionName } from '../../policy-engine/catalogue/actions.ts'
import type { PathDeps, RequestContext } from './request-context.ts'

/** Hands the request's last decision to the log; never rejects. */
export async function logDecision(deps: PathDeps, { decided, route, caller }: RequestContext): Promise<void> {
  if (!decided) return
  const always = decided.decision.effect !== 'allow' || (route.method !== 'GET' && !asking.has(route.action))
  await deps.recordDecision({ id: caller.decisionId, ...decided, always })
}

// Asking is no change, whatever the method.
const asking: ReadonlySet<ActionName> = new Set(['access:evaluate', 'policy:test'])
