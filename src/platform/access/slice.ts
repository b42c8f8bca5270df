import type { CompiledPolicy, Slice, SlicePolicy } from './compiled-policy.ts'
import type { DataType } from './conditions.ts'
import type { Fault, PolicyEffect } from './policy-document.ts'

/** The most all policies of one slice may cost one decision, in µs. */
export const sliceBudgetUs = 2000

/** The most policies may take as text in one slice, in bytes. */
export const sliceBytes = 256 * 1024

/** What is wrong with a slice as a whole, to be asked of each slice a written policy becomes part of. */
export function sliceFault(slice: Slice): Fault | undefined {
  if (slice.costUs <= sliceBudgetUs && Buffer.byteLength(slice.text) <= sliceBytes) return undefined
  const detail =
    'The policies about one action take too much together: write fewer, or about fewer people each.'
  return { pointer: '', code: 'too_costly', detail }
}

/** Whether a policy is about an action on a resource type: `*`, `resource:*` or the action itself. */
export function concerns(
  policy: Pick<CompiledPolicy, 'actions' | 'resourceTypes'>,
  action: string,
  resourceType: string,
): boolean {
  const wildcard = `${action.slice(0, action.indexOf(':'))}:*`
  const named = policy.actions.some((name) => name === '*' || name === wildcard || name === action)
  return named && (policy.resourceTypes.length === 0 || policy.resourceTypes.includes(resourceType))
}

/**
 * Puts policies together for the engine. The caller has chosen them: in force, enforced (or shadow ones, to see
 * what they would do), and concerning one action and resource type (`concerns`).
 */
export function buildSlice(tenantId: string, revision: number, policies: readonly SlicePolicy[]): Slice {
  const compiled = policies.map((policy) => policy.compiled)
  const attributes: Record<string, DataType> = Object.assign({}, ...compiled.map((one) => one.attributes))
  return {
    tenantId,
    revision,
    attributes,
    looksAtResource: Object.keys(attributes).some(isOfResource),
    gates: compiled.some(({ effect }) => effect === 'require_approval'),
    costUs: compiled.reduce((sum, { costUs }) => sum + costUs, 0),
    text: sliceText(tenantId, policies, attributes),
  }
}

const noPolicies = new Map<string, Slice>()
const noPoliciesKept = 10_000

/** The slice of a tenant without policies for a question. The same object again, so that it is parsed once. */
export function emptySlice(tenantId: string, revision: number): Slice {
  const known = noPolicies.get(tenantId)
  if (known?.revision === revision) return known
  if (noPolicies.size >= noPoliciesKept) noPolicies.clear()
  const slice = buildSlice(tenantId, revision, [])
  noPolicies.set(tenantId, slice)
  return slice
}

/** Whether a decision with these policies needs the resource; if not, one evaluation serves both phases. */
export const looksAtResource = (slice: Slice): boolean => slice.looksAtResource

// The type follows from the route; all else of a resource is known only once it is loaded.
const isOfResource = (name: string) => name.startsWith('resource.') && name !== 'resource.type'

const listOf: Record<PolicyEffect, 'deny' | 'gate' | 'allow'> = {
  allow: 'allow',
  deny: 'deny',
  require_approval: 'gate',
}

type Lists = { filled: boolean; any: unknown[] } & Record<
  'role' | 'department' | 'user',
  Record<string, unknown[]>
>
const noLists = (): Lists => ({ filled: false, any: [], role: {}, department: {}, user: {} })

function sliceText(tenantId: string, policies: readonly SlicePolicy[], attributes: object): string {
  const lists = { deny: noLists(), gate: noLists(), allow: noLists(), duty: noLists() }
  for (const policy of policies.toSorted(byPriority)) {
    const { effect, obligations } = policy.compiled
    file(lists[listOf[effect]], policy)
    // Where a role grants, only what an allow demands of the answer is of interest.
    if (effect === 'allow' && obligations.length > 0) file(lists.duty, policy)
  }
  const looks = Object.keys(attributes).some(isOfResource)
  return JSON.stringify({ tenant_id: tenantId, looks_at_resource: looks, ...lists })
}

const byPriority = (one: SlicePolicy, other: SlicePolicy) =>
  other.priority - one.priority || (one.id < other.id ? -1 : 1)

// A policy about several principals stands under each of them, so that a decision meets only what is about its
// subject.
function file(lists: Lists, policy: SlicePolicy): void {
  const { roles, departments, users } = policy.compiled.subjects
  const entry = entryOf(policy)
  lists.filled = true
  if (roles.length + departments.length + users.length === 0) lists.any.push(entry)
  const under = (kind: 'role' | 'department' | 'user') => (id: string) => {
    lists[kind][id] ??= []
    lists[kind][id].push(entry)
  }
  roles.forEach(under('role'))
  departments.forEach(under('department'))
  users.forEach(under('user'))
}

function entryOf({ id, version, name, priority, compiled }: SlicePolicy) {
  const { effect, proof, obligations, approval } = compiled
  return {
    h: { policy_id: id, version, name, effect, priority },
    ...proof,
    ...(obligations.length > 0 && { obligations }),
    ...(approval && { approval }),
  }
}
