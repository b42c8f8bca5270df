import type { DecisionPace } from '../../../limits/decision-time.ts'
import { attributeOf } from '../../../policy-engine/compile/departments.ts'
import { type AttributeFaults, valueFaults } from '../../../policy-engine/evaluate/attribute-faults.ts'
import type { Effect } from '../../../policy-engine/evaluate/decision.ts'
import type { DecisionPoint } from '../../../policy-engine/evaluate/engine.ts'
import { wantedBy } from '../../../policy-engine/evaluate/explain.ts'
import type { AnyQuery, Asker } from '../../../policy-engine/evaluate/query.ts'
import { type Facts, notRecorded, queryFrom } from '../../decisions/facts.ts'
import type { RecordedQuery } from '../../decisions/store.ts'
import type { PolicyInStore, TenantPolicies } from '../active-store.ts'
import { slicePolicies, withPolicy } from '../slice-policies.ts'

/** Recorded decisions to decide again, with a policy beside the others or in place of its stored form, and who wants to know. */
export interface Replay {
  policy: PolicyInStore
  askedBy: Asker
  rows: readonly Pick<RecordedQuery, 'resource_type' | 'action' | 'at' | 'request_id' | 'facts'>[]
}

/** The effects without and with the policy, and what its attributes lacked; or the attributes that were not recorded. */
export type Replayed =
  | ({ before: Effect; after: Effect } & Partial<Omit<AttributeFaults, 'missing'>>)
  | { missing: string[] }

/**
 * Decides each row twice: with the policies in force, and with the policy among them. The recorded effect does not count,
 * because policies have changed since, and approvals are not recorded.
 */
export async function replayDecisions(
  active: TenantPolicies,
  { policy, askedBy, rows }: Replay,
  access: Pick<DecisionPoint, 'decide'>,
  pace?: DecisionPace,
): Promise<Replayed[]> {
  const sides = [slicePolicies(active), slicePolicies(withPolicy(active, policy))]
  const replayed: Replayed[] = []
  for (const row of rows) {
    await pace?.next()
    const recorded = { ...row, facts: JSON.parse(row.facts) as Facts }
    const slices = sides.map((side) => side.slice(row.resource_type, row.action, row.at))
    const queries = slices.flatMap((slice) => queryFrom(recorded, slice) ?? [])
    const decisions = queries.map((query) => access.decide({ ...query, askedBy }))
    const [before, after] = decisions
    // A module that was late denied, whatever it would have said.
    const isCertain = before && after && decisions.every(({ late = [] }) => late.length === 0)
    replayed.push(
      isCertain
        ? {
            before: before.effect,
            after: after.effect,
            ...faultsFor(policy, queries.at(-1)!, recorded.facts),
          }
        : { missing: [...new Set(slices.flatMap((slice) => notRecorded(recorded.facts, slice)))] },
    )
  }
  return replayed
}

/** What a policy reads of a recorded evaluation and that does not count. */
function faultsFor({ compiled }: PolicyInStore, query: AnyQuery, facts: Facts) {
  const { illTyped } = valueFaults(query, wantedBy(compiled))
  const read = new Set(Object.keys(compiled.attributes).map(attributeOf))
  const ignored = 'cut' in facts ? [] : (facts.ignored ?? []).filter((name) => read.has(name))
  return { illTyped, ignored }
}
