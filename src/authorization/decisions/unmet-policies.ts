import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { DecisionPace } from '../../limits/decision-time.ts'
import { actions, isServiceAction } from '../../policy-engine/catalogue/actions.ts'
import { attributeOf } from '../../policy-engine/compile/departments.ts'
import { concerns } from '../../policy-engine/compile/slice.ts'
import { failedLeaves, type TraceLeaf } from '../../policy-engine/evaluate/explain.ts'
import type { AnyQuery } from '../../policy-engine/evaluate/query.ts'
import type { Caller } from '../../request/caller.ts'
import type { PolicyInStore } from '../policies/active-store.ts'
import { type policyReader, readable, readableResource } from '../policies/readable-parts.ts'
import { isInForce } from '../policies/slice-policies.ts'
import { subjectOf } from '../policies/trials/test-subject.ts'
import type { ExplainVersions } from './explain-versions.ts'
import { type Facts, notRecorded } from './facts.ts'
import type { DecisionRow } from './store.ts'

const maxPolicies = 10
const maxFailed = 10

/** An allow policy for the action of a denial that did not apply, as callers read it. */
export const unmetSchema = z.object({
  policy_id: z.uuid(),
  version: z.int(),
  name: z.string(),
  covers_subject: z.boolean().meta({ description: 'False: it is about other roles, departments or people' }),
  failed: z
    .array(
      z.object({
        path: z.string().meta({ description: 'JSON Pointer into the policy' }),
        outcome: z.enum(['true', 'false', 'unknown']),
        attribute: z.string(),
        operator: z.string(),
        value: z.unknown().optional(),
        value_from: z.string().optional(),
        actual: z.unknown().meta({ description: 'Null: missing, or of another type' }),
      }),
    )
    .meta({ description: `The comparisons of its condition that failed; ${maxFailed} at most` }),
})

type UnmetPolicy = z.output<typeof unmetSchema>

/** What a reader can read of the policies, and of what they read. */
interface Reader {
  isRead: ReturnType<typeof policyReader>
  isWithheld: (attribute: string) => boolean
  now: number
  pace: DecisionPace
}

/**
 * The allow policies for the action of a decision that roles denied, as they are in force now: 10 at most, those about the
 * subject first. Policies that the reader cannot read are left out. So are those that read what was not recorded, or what
 * the reader cannot read: which of their comparisons failed would tell the value.
 */
export async function unmetPolicies(
  { row, query }: { row: DecisionRow; query: AnyQuery },
  { isRead, isWithheld, now, pace }: Reader,
  inForce: () => Promise<readonly PolicyInStore[]>,
  explain: ExplainVersions,
): Promise<UnmetPolicy[]> {
  const isUngranted = row.reasons.some(({ code }) => code === 'missing_permission' || code === 'not_owner')
  const canPermit = !isServiceAction(row.action) || actions[row.action].widen
  if (row.effect !== 'deny' || !isUngranted || !canPermit) return []
  const found: PolicyInStore[] = []
  for (const policy of await inForce()) {
    if (!permits(policy, row, now) || !wasRecorded(row.facts, policy)) continue
    await pace.next()
    const { id, name, compiled } = policy
    if (isRead({ id, name, effect: compiled.effect })) found.push(policy)
  }
  const near = found
    .filter(({ compiled }) => !Object.keys(compiled.attributes).some(isWithheld))
    .map((policy) => ({ ...policy, covers: isAbout(policy, query) }))
    .toSorted((one, other) => Number(other.covers) - Number(one.covers) || other.priority - one.priority)
    .slice(0, maxPolicies)
  if (near.length === 0) return []
  const policies = await explain(near.map(({ id, version }) => ({ policy_id: id, version })))
  const explained = new Map(policies.map((one) => [one.policy_id, one]))
  return near.flatMap(({ id, version, name, covers }) => {
    const found = explained.get(id)
    if (!found || found.applies) return []
    const failed = failedLeaves(found.trace).slice(0, maxFailed)
    return [{ policy_id: id, version, name, covers_subject: covers, failed: failed.map(shown) }]
  })
}

const shown = ({ path, outcome, attribute, operator, value, value_from, actual }: TraceLeaf) => ({
  path,
  outcome,
  attribute,
  operator,
  ...(value !== undefined && { value }),
  ...(value_from !== undefined && { value_from }),
  actual,
})

const permits = (policy: PolicyInStore, row: DecisionRow, now: number) =>
  policy.mode === 'enforce' &&
  policy.compiled.effect === 'allow' &&
  concerns(policy.compiled, row.action, row.resource_type) &&
  isInForce(policy, now)

const wasRecorded = (facts: Facts, { compiled }: PolicyInStore) => notRecorded(facts, compiled).length === 0

/** As `abac.about_subject` says it. */
function isAbout({ compiled: { subjects } }: PolicyInStore, { subject }: AnyQuery): boolean {
  const { roles, departments, users } = subjects
  if (roles.length + departments.length + users.length === 0) return true
  const { roleIds = [], departmentId = null } = subject.membership ?? {}
  return (
    users.includes(subject.id) ||
    roles.some((id) => roleIds.includes(id)) ||
    (departmentId !== null && departments.includes(departmentId))
  )
}

/** The same as for a test of a policy: the values of a member or a registered resource that the caller could not read. */
export async function withheldFrom(
  deps: Deps,
  caller: Caller,
  query: AnyQuery,
): Promise<Reader['isWithheld']> {
  const { type, id, fields = {} } = query.resource
  const { isWithheld: ofSubject } = await subjectOf(deps, caller, query.subject, '')
  const isStored = 'application' in query && id && Object.keys(fields).length > 0
  const { isWithheld: ofResource } = isStored
    ? await readableResource(deps, caller, { type, id })
    : readable(null)
  const isOf = (name: string) => ofSubject(name) || ofResource(name)
  return (name) => isOf(attributeOf(name))
}

/** Why a policy did not apply. */
export function unmetSentence<Failed>(
  {
    name,
    covers_subject: covers,
    failed,
  }: Pick<UnmetPolicy, 'name' | 'covers_subject'> & { failed: Failed[] },
  ofComparison: (failed: Failed) => string,
): string {
  const why = [...(covers ? [] : ['it is about other members']), ...failed.map(ofComparison)]
  const because = why.length > 0 ? `: ${why.join('; ')}` : ''
  return `The policy "${name}" can permit this, but does not apply${because}.`
}
