import type { CompiledPolicy, Node, Proof, Slice, SlicePolicy } from '../compile/compiled-policy.ts'
import type { Condition, DataType } from '../compile/conditions.ts'
import type { Obligation } from '../compile/policy-document.ts'
import { buildSlice } from '../compile/slice.ts'
import type { ReadAttributes } from '../evaluate/bundle.ts'
import { aboutActor } from '../evaluate/decide-with-actor.ts'
import { readDecision } from '../evaluate/decision.ts'
import type { ExplainAnswer } from '../evaluate/explain.ts'
import type { RunEvaluation } from '../evaluate/instances.ts'
import { inputText, type PolicyInstance } from '../evaluate/policy-instance.ts'
import { type ApplicationQuery, policyInput } from '../evaluate/query.ts'
import { type ListedPolicy, type Lists, sliceContent } from '../evaluate/slice-content.ts'
import type { ModulePool } from '../sandbox/module-pool.ts'
import { runModules } from '../sandbox/run-modules.ts'
import { isKnownLeaf, isKnownName, type Known, restOfLeaf } from './compare-resource.ts'
import { joined, type OpenRest, type Rest, restOf, splitProofs } from './rest.ts'
import { conditionOf, noteAttributes } from './write-filter.ts'

/**
 * For which resources a query is permitted: none, all, or those for which the filter is true. Approvals are ignored: what
 * a gate holds back is not permitted.
 */
export interface Plan {
  filter: boolean | Condition
  /** what binds the answer; null: for all permitted resources */
  obligations: (Obligation & { filter: Condition | null })[]
  /** of the filters, with their types */
  attributes: Record<string, DataType>
}

/**
 * Why there is no plan: a filter that is too long, a module of a policy that did not answer in time, or the name of a policy
 * with a module, or of a rule, that looks at the resource.
 */
export type NoPlan = { unplanned: 'too_large' | 'late' } | { unplanned: 'module' | 'rule'; name: string }

/** The most bytes that the filters of a plan have together, as JSON. */
export const maxFilterBytes = 64 * 1024

class Unplanned extends Error {
  readonly why: NoPlan
  constructor(why: NoPlan) {
    super(why.unplanned)
    this.why = why
  }
}

interface Engine {
  run: RunEvaluation
  /** what the rules of the service and of the installation read, in every decision */
  read: ReadAttributes
  /** those of these rules that look at the resource */
  looking: readonly string[]
  pool: ModulePool
}

/**
 * Plans a query about all resources of a type that are not registered; its `resource` has only the type. If another member acts as
 * the subject, both must be permitted. Throws if the module gives no valid answer.
 */
export function planWith(engine: Engine, query: ApplicationQuery): Plan | NoPlan {
  try {
    const own = remainderOf(engine, query)
    if (!query.subject.session?.actor || own.permitted === false) return planOf([own], query.slice)
    return planOf([own, remainderOf(engine, aboutActor(query) as ApplicationQuery)], query.slice)
  } catch (error) {
    if (error instanceof Unplanned) return error.why
    throw error
  }
}

interface Remainder {
  permitted: Rest
  obligations: { obligation: Obligation; rest: Rest }[]
}

/**
 * What is left of a query when all but the resource is known: no deny and no gate applies, and a role or an allow grants
 * the action. The module decides what needs no resource, in one evaluation.
 */
function remainderOf(engine: Engine, query: ApplicationQuery): Remainder {
  const { slice } = query
  const { policies, lists } = sliceContent(slice)
  const about = (list: Lists) => keysAbout(list, query).map((key) => policies[key] ?? unreadable)
  const [deny, gate, allow] = [about(lists.deny), about(lists.gate), about(lists.allow)]
  const { parts, split } = splitProofs(isKnownLeaf)
  const splits = new Map(
    [...deny, ...gate, ...allow].map((policy) => [policy, split(...proofOf(policy))] as const),
  )
  const involved = new Set([...splits.keys()].map(({ h }) => h.policy_id))
  const modules = slice.modules.filter(({ id }) => involved.has(id))
  // No module runs for a subject to whom nothing is permitted anyway.
  if (modules.length > 0 && askedNow(engine, query).decision.effect !== 'allow') return nothing
  const { decision, attrs, outcomes } = askedNow(engine, query, parts, findingsOf(engine, query, modules))
  const room = roomForFilters()
  const known: Known = { attrs, types: slice.attributes, departments: slice.departments, fits: room.fits }
  const rests = new Map<ListedPolicy, Rest>()
  const left = (policy: ListedPolicy): Rest => {
    const rest =
      rests.get(policy) ?? restOf(splits.get(policy)!, outcomes, (leaf) => room.take(restOfLeaf(leaf, known)))
    rests.set(policy, rest)
    return rest
  }
  const byRole = decision.reasons[0]?.layer === 'rbac'
  function* permitted(): Generator<Rest> {
    yield decision.effect === 'allow'
    for (const policy of [...deny, ...gate]) yield left(policy)
    yield byRole || joined('any', allow.map(left))
  }
  const whole = joined('all', permitted())
  if (whole === false) return nothing
  const demands = allow.flatMap((policy) =>
    (policy.obligations ?? []).map((obligation) => ({ obligation, rest: left(policy) })),
  )
  return {
    permitted: whole,
    obligations: [...decision.obligations.map((obligation) => ({ obligation, rest: true })), ...demands],
  }
}

const nothing: Remainder = { permitted: false, obligations: [] }

/** Stands for a policy that the slice names and does not have: nothing proves it. */
const unreadable: ListedPolicy = { h: { policy_id: '', name: '' } }

const proofOf = ({ all, any }: ListedPolicy): ['all' | 'any', Node] =>
  all ? ['all', all] : ['any', any ?? { l: [], c: [] }]

/** The keys of the policies about the subject, as `_keys` of policies/authz/abac/matching.rego finds them. */
function keysAbout(list: Lists, { subject: { id, membership } }: ApplicationQuery): string[] {
  if (!membership) return list.any
  const under = (kind: 'role' | 'department' | 'user', name: string | null) =>
    name !== null && Object.hasOwn(list[kind], name) ? list[kind][name]! : []
  const roles = [...membership.systemRoles, ...membership.roleIds].flatMap((role) => under('role', role))
  const departments = under('department', membership.departmentId)
  return [...new Set([...list.any, ...roles, ...departments, ...under('user', id)])]
}

/** What the modules of policies find, of which none may look at the resource. */
function findingsOf({ pool }: Engine, query: ApplicationQuery, modules: readonly SlicePolicy[]) {
  if (modules.length === 0) return {}
  const looking = modules.find(({ compiled }) => !Object.keys(compiled.attributes).every(isKnownName))
  if (looking) throw new Unplanned({ unplanned: 'module', name: looking.name })
  const { attrs, late } = runModules(pool, query, modules)
  if (late.length > 0) throw new Unplanned({ unplanned: 'late' })
  return attrs
}

/**
 * The decision with a policy that allows everything in place of those of the tenant, so that it says what invariants, rules
 * of the installation and roles do; and the outcomes of the parts of proofs.
 */
function askedNow(
  { run, read, looking: [rule] }: Engine,
  query: ApplicationQuery,
  parts: readonly Proof[] = [],
  found: Readonly<Record<string, boolean>> = {},
) {
  if (rule !== undefined) throw new Unplanned({ unplanned: 'rule', name: rule })
  const open = { ...query, slice: openSlice(query.slice) }
  const names = Object.entries(query.slice.attributes).filter(([name]) => isKnownName(name))
  const known = policyInput(open, { ...read, ...Object.fromEntries(names) })
  const attrs = { ...known.attrs, ...found }
  const nodes = parts.map((holds, index) => ({ path: String(index), holds, fails: never }))
  const input = inputText({ ...known, attrs, explain: [{ policy_id: '', nodes }] })
  const evaluate = (instance: PolicyInstance) => {
    const answer = instance.evaluate('authz/explain', input, open.slice) as ExplainAnswer | undefined
    const outcomes = (answer?.policies[0]?.nodes ?? []).map(({ outcome }) => outcome === 'true')
    if (outcomes.length !== parts.length) throw new Error('the module decided other parts of proofs')
    return { decision: readDecision(answer?.decision, open), attrs, outcomes }
  }
  return run({ slice: open.slice, input, evaluate })
}

const always: Proof = { all: { l: [], c: [] } }
const never: Proof = { any: { l: [], c: [] } }
const everyone = { roles: [], departments: [], users: [] }
const allowAll: CompiledPolicy = {
  ...{ form: 1, effect: 'allow', proof: always, subjects: everyone },
  ...{ resourceTypes: [], actions: ['*'], obligations: [], approval: null, attributes: {}, costUs: 0 },
}

// The engine parses each slice object once.
const openSlices = new WeakMap<Slice, Slice>()

function openSlice(slice: Slice): Slice {
  const { tenantId, revision, departments } = slice
  const policy = { id: 'plan', version: 0, name: 'plan', priority: 0, compiled: allowAll }
  const open = openSlices.get(slice) ?? buildSlice(tenantId, revision, [policy], departments)
  openSlices.set(slice, open)
  return open
}

// What is left is longer than the filter written of it: each comparison also says which outcome is wanted.
const maxRestBytes = (4 / 3) * maxFilterBytes

/** Ends work on filters that become too long, before all of it is done. */
function roomForFilters() {
  let taken = 0
  const fits = (characters: number) => {
    if (taken + characters > maxRestBytes) throw new Unplanned({ unplanned: 'too_large' })
  }
  return {
    fits,
    take(rest: Rest): Rest {
      const { length } = JSON.stringify(rest)
      fits(length)
      taken += length
      return rest
    },
  }
}

function planOf(remainders: readonly Remainder[], { attributes: types }: Slice): Plan {
  const permitted = joined(
    'all',
    remainders.map((one) => one.permitted),
  )
  const attributes: Plan['attributes'] = {}
  const written = (rest: OpenRest) => {
    noteAttributes(rest, types, attributes)
    return conditionOf(rest, types)
  }
  const filter = typeof permitted === 'boolean' ? permitted : written(permitted)
  const obligations = remainders
    .flatMap((one) => (permitted === false ? [] : one.obligations))
    .flatMap(({ obligation, rest }) =>
      rest === false ? [] : [{ ...obligation, filter: rest === true ? null : written(rest) }],
    )
  const distinct = [...new Map(obligations.map((one) => [JSON.stringify(one), one])).values()]
  const filters = [filter, ...distinct.map((one) => one.filter)]
  if (Buffer.byteLength(JSON.stringify(filters)) > maxFilterBytes)
    throw new Unplanned({ unplanned: 'too_large' })
  return { filter, obligations: distinct, attributes }
}
