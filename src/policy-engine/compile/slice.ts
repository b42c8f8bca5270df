import { wildcardOf } from '../catalogue/actions.ts'
import { compact } from './compact-leaf.ts'
import {
  type CompiledPolicy,
  type ModuleUse,
  moduleRan,
  type Shadow,
  type Slice,
  type SlicePolicy,
} from './compiled-policy.ts'
import type { DataType } from './conditions.ts'
import type { Departments } from './departments.ts'
import type { PolicyEffect, Subjects } from './policy-document.ts'

/** Whether a policy covers an action on a resource type, by `*`, `resource:*` or the action itself. */
export function concerns(
  policy: Pick<CompiledPolicy, 'actions' | 'resourceTypes'>,
  action: string,
  resourceType: string,
): boolean {
  const wildcard = wildcardOf(action)
  const named = policy.actions.some((name) => name === '*' || name === wildcard || name === action)
  return named && (policy.resourceTypes.length === 0 || policy.resourceTypes.includes(resourceType))
}

/**
 * Builds the slice of these policies. The caller chooses them: in force, enforced (or in shadow mode, for a trial),
 * and covering one action and resource type (`concerns`). `departments` are those of the tenant.
 */
export function buildSlice(
  tenantId: string,
  revision: number,
  policies: readonly SlicePolicy[],
  departments: Departments | null = null,
): Slice {
  return policies.length === 0
    ? emptySlice(tenantId, revision, departments)
    : sliceOf(tenantId, revision, policies, departments)
}

function sliceOf(
  tenantId: string,
  revision: number,
  policies: readonly SlicePolicy[],
  departments: Departments | null,
): Slice {
  const compiled = policies.map((policy) => policy.compiled)
  const attributes: Record<string, DataType> = Object.assign({}, ...compiled.map((one) => one.attributes))
  const text = sliceText(policies.length === 0 ? null : tenantId, policies, attributes)
  return {
    tenantId,
    revision,
    attributes,
    looksAtResource: Object.keys(attributes).some(isOfResource),
    gates: compiled.some(({ effect }) => effect === 'require_approval'),
    costUs: compiled.reduce((sum, { costUs }) => sum + costUs, 0),
    bytes: Buffer.byteLength(text),
    memory: memoryOf(text),
    text,
    departments,
    modules: policies.filter(({ compiled: { module } }) => module !== undefined),
    shadows: [],
  }
}

// Each is one more evaluation of every decision.
const maxShadows = 20

/** The slice of `policies`, with those of `shadows` that come first by priority, 20 at most. */
export function buildSliceWithShadows(
  tenantId: string,
  revision: number,
  policies: readonly SlicePolicy[],
  shadows: readonly SlicePolicy[],
  departments: Departments | null = null,
): Slice {
  const shadowOf = (policy: SlicePolicy): Shadow => {
    let slice: Slice | undefined
    return {
      policy,
      slice() {
        slice ??= buildSlice(tenantId, revision, [...policies, policy], departments)
        return slice
      },
    }
  }
  const first = shadows.toSorted(byPriority).slice(0, maxShadows)
  return { ...buildSlice(tenantId, revision, policies, departments), shadows: first.map(shadowOf) }
}

/** An upper bound for the memory of a parsed JSON text inside the module, in bytes. */
function memoryOf(text: string): number {
  let values = 1
  for (let at = 0; at < text.length; at++) if (marks.has(text.charCodeAt(at))) values++
  return Buffer.byteLength(text) + bytesPerValue * values
}

/** The memory of a value inside the module, its text not counted. Measured with numbers, which take most. */
export const bytesPerValue = 192
// One of these precedes each value. They also count inside texts, so the sum is an upper bound.
const marks = new Set([...',:[{'].map((mark) => mark.charCodeAt(0)))

/** A slice without policies. All have the same `text`, which an instance parses once, whatever the number of tenants. */
export const emptySlice = (
  tenantId: string,
  revision: number,
  departments: Departments | null = null,
): Slice => ({ ...noPolicies, tenantId, revision, departments })

// The route gives the type of a resource; everything else is known only after loading it.
const isOfResource = (name: string) => name.startsWith('resource.') && name !== 'resource.type'

const listOf: Record<PolicyEffect, 'deny' | 'gate' | 'allow'> = {
  allow: 'allow',
  deny: 'deny',
  require_approval: 'gate',
}

type Lists = { filled: boolean; any: string[] } & Record<
  'role' | 'department' | 'user',
  Record<string, string[]>
>
const noLists = (): Lists => ({ filled: false, any: [], role: {}, department: {}, user: {} })

function sliceText(tenantId: string | null, chosen: readonly SlicePolicy[], attributes: object): string {
  const lists = { deny: noLists(), gate: noLists(), allow: noLists(), duty: noLists() }
  const policies: Record<string, object> = {}
  for (const [index, policy] of chosen.toSorted(byPriority).entries()) {
    const { effect, obligations, subjects } = policy.compiled
    const key = String(index)
    policies[key] = entryOf(policy)
    addToLists(lists[listOf[effect]], subjects, key)
    if (policy.compiled.module && effect === 'allow') {
      policies[`${key}:ran`] = unlessRun(policy, policy.compiled.module)
      addToLists(lists.deny, subjects, `${key}:ran`)
    }
    // If a role grants the action already, only the obligations of allow policies matter.
    if (effect === 'allow' && obligations.length > 0) addToLists(lists.duty, subjects, key)
  }
  const looks = Object.keys(attributes).some(isOfResource)
  return JSON.stringify({ tenant_id: tenantId, looks_at_resource: looks, policies, ...lists })
}

const byPriority = (one: SlicePolicy, other: SlicePolicy) =>
  other.priority - one.priority || (one.id < other.id ? -1 : 1)

// Maps each principal to the keys of its policies. A decision then reads only the policies of its subject, and each
// policy is stored once for any number of principals.
function addToLists(lists: Lists, { roles, departments, users }: Subjects, key: string): void {
  lists.filled = true
  if (roles.length + departments.length + users.length === 0) lists.any.push(key)
  const under = (kind: 'role' | 'department' | 'user') => (id: string) => {
    lists[kind][id] ??= []
    lists[kind][id].push(key)
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

/** A denial for as long as the module of an allow policy has not run. A deny policy applies then anyway. */
function unlessRun({ id, version, name, priority, compiled }: SlicePolicy, { key }: ModuleUse) {
  const ran = compact({ operator: 'exists', attribute: moduleRan(key), wanted: true })
  return {
    h: { policy_id: id, version, name, effect: compiled.effect, priority },
    any: { g: ran, l: [], c: [] },
  }
}

const noPolicies = sliceOf('', 0, [], null)

/** The `text` of every slice without policies. It names no tenant. */
export const textWithoutPolicies = noPolicies.text
