import type { DecisionPace } from '../../platform/decision-budget.ts'
import type { Effect } from '../../policy-engine/evaluate/decision.ts'
import type { Lane } from '../../policy-engine/evaluate/engine.ts'
import type { Asker } from '../../policy-engine/evaluate/query.ts'
import { type Facts, queryFrom } from '../decisions/facts.ts'
import type { RecordedQuestion } from '../decisions/store.ts'
import type { TenantPolicies } from './active-store.ts'
import { slicePolicies } from './slice-policies.ts'

/** Recorded decisions to decide again, and who wants to know. */
export interface Replay {
  askedBy: Asker
  rows: readonly Pick<RecordedQuestion, 'resource_type' | 'action' | 'at' | 'request_id' | 'facts'>[]
}

/** The new effects in the order of the rows; null if the policies read an attribute that was not recorded. */
export async function replayDecisions(
  policies: TenantPolicies,
  { askedBy, rows }: Replay,
  access: Pick<Lane, 'decide'>,
  pace?: DecisionPace,
): Promise<(Effect | null)[]> {
  const sliced = slicePolicies(policies)
  const effects: (Effect | null)[] = []
  for (const row of rows) {
    await pace?.next()
    const facts = JSON.parse(row.facts) as Facts
    const query = queryFrom({ ...row, facts }, sliced.slice(row.resource_type, row.action, row.at))
    effects.push(query && access.decide({ ...query, askedBy }).effect)
  }
  return effects
}
