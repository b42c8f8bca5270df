import type { Deps } from '../../deps.ts'
import { readInTenant } from '../../platform/db/read.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { isServiceAction, serviceResources, wildcardOf } from '../../policy-engine/catalogue/actions.ts'
import { builtInAttributes } from '../../policy-engine/catalogue/built-in-attributes.ts'
import type { CompiledPolicy } from '../../policy-engine/compile/compiled-policy.ts'
import type { Condition } from '../../policy-engine/compile/conditions.ts'
import type { Subjects, Warning } from '../../policy-engine/compile/policy-document.ts'
import type { Compiled } from './compile-body.ts'
import { listActivePolicies, type PolicyInStore } from './store.ts'
import { countApprovers, countMembersWith, listAllPermissions } from './tenant-warnings-store.ts'

/** Warnings about a policy that depend on the tenant: its other policies, roles and members. None prevents writing it. */
export async function tenantWarnings(
  { db }: Pick<Deps, 'db'>,
  caller: Pick<Caller, 'tenantId' | 'userId'>,
  { id, compiled: { compiled, rules } }: { id: string; compiled: Compiled },
): Promise<Warning[]> {
  const { tenantId } = caller
  const wanted = memberAttributes(rules.conditions)
  const { active, permissions, approvers, members } = await readInTenant(db, caller, async (read) => {
    const asked = [
      listActivePolicies(read, tenantId),
      listAllPermissions(read, tenantId),
      countApprovers(read, tenantId, compiled.approval?.approver.roles ?? []),
      countMembersWith(read, tenantId, [...wanted.keys()]),
    ] as const
    const [{ policies }, permissions, approvers, members] = await Promise.all(asked)
    return { active: policies, permissions, approvers, members }
  })
  const others = active.filter((other) => other.id !== id)
  return [
    ...unknownActions(compiled, others, permissions),
    ...shadowing(compiled, others),
    ...quorumWarnings(compiled, approvers),
    ...rareAttributes(compiled, wanted, members),
  ]
}

/** Actions of an application that no role and no other policy names. */
function unknownActions(
  { actions }: CompiledPolicy,
  others: readonly PolicyInStore[],
  permissions: readonly string[],
): Warning[] {
  const named = new Set([...permissions, ...others.flatMap(({ compiled }) => compiled.actions)])
  const resources = new Set([...named].map((name) => name.split(':')[0]))
  const isKnown = (name: string) => {
    const [resource = '', verb] = name.split(':')
    if (name === '*' || isServiceAction(name) || serviceResources.has(resource)) return true
    return verb === '*' ? resources.has(resource) : named.has(name) || named.has(wildcardOf(name))
  }
  return actions.flatMap((name, index) => {
    const detail = `No role and no other policy names ${name}: check the spelling. It applies if your application asks for it.`
    return isKnown(name) ? [] : [{ pointer: `/actions/${index}`, code: 'unknown_action', detail } as const]
  })
}

/** A deny without conditions that applies wherever this policy does. */
function shadowing(policy: CompiledPolicy, others: readonly PolicyInStore[]): Warning[] {
  if (policy.effect === 'deny') return []
  const broader = others.find(
    ({ mode, compiled }) =>
      mode === 'enforce' &&
      compiled.effect === 'deny' &&
      isUnconditional(compiled) &&
      covers(compiled, policy),
  )
  if (!broader) return []
  const detail = `The policy "${broader.name}" (${broader.id}) denies everything that this one is about, so this one has no effect.`
  return [{ pointer: '/effect', code: 'shadowed_by_deny', detail }]
}

/** The proof that its condition is false never succeeds. */
const isUnconditional = ({ proof }: CompiledPolicy) =>
  'any' in proof && !proof.any.g && proof.any.l.length + proof.any.c.length === 0

function covers(deny: CompiledPolicy, policy: CompiledPolicy): boolean {
  const named = new Set(deny.actions)
  const allActions = policy.actions.every(
    (name) => named.has('*') || named.has(name) || (name !== '*' && named.has(wildcardOf(name))),
  )
  const allTypes = deny.resourceTypes.length === 0 || isSubset(policy.resourceTypes, deny.resourceTypes)
  return allActions && allTypes && coversSubjects(deny.subjects, policy.subjects)
}

const isSubset = (part: readonly string[], whole: readonly string[]) =>
  part.length > 0 && part.every((one) => whole.includes(one))

function coversSubjects(deny: Subjects, policy: Subjects): boolean {
  const kinds = ['roles', 'departments', 'users'] as const
  if (kinds.every((kind) => deny[kind].length === 0)) return true
  const named = kinds.some((kind) => policy[kind].length > 0)
  return named && kinds.every((kind) => policy[kind].every((one) => deny[kind].includes(one)))
}

function quorumWarnings({ effect, approval }: CompiledPolicy, approvers: number): Warning[] {
  if (effect !== 'require_approval' || !approval || approvers >= approval.quorum) return []
  const detail = `Only ${approvers} active members have a role that approves, and the quorum is ${approval.quorum}: no such call can be approved.`
  return [{ pointer: '/approval/quorum', code: 'quorum_unreachable', detail }]
}

/** Attributes that more than half of the active members lack, although the condition needs a value. */
function rareAttributes(
  { effect }: CompiledPolicy,
  wanted: ReadonlyMap<string, string>,
  { total, having }: { total: number; having: ReadonlyMap<string, number> },
): Warning[] {
  const consequence = effect === 'allow' ? 'it does not apply to them' : 'it applies to all of them'
  return [...wanted].flatMap(([key, pointer]) => {
    const lacking = total - (having.get(key) ?? 0)
    if (lacking * 2 <= total) return []
    const detail = `${lacking} of ${total} active members have no subject.${key}. If the condition depends on it, ${consequence}.`
    return [{ pointer, code: 'attribute_rare', detail } as const]
  })
}

/** The keys of members' attributes that a condition compares, with the pointer of the first comparison of each. */
function memberAttributes(
  condition: Condition | null,
  pointer = '/conditions',
  found = new Map<string, string>(),
): Map<string, string> {
  if (condition === null) return found
  if ('attribute' in condition) {
    const { attribute, operator, value_from } = condition
    const guards = operator === 'exists' || operator === 'not_exists'
    for (const name of guards ? [] : [attribute, value_from ?? ''])
      if (isOfMembers(name) && !found.has(name.slice(8))) found.set(name.slice(8), pointer)
    return found
  }
  for (const [group, members] of Object.entries<Condition[]>(condition))
    for (const [index, member] of members.entries())
      memberAttributes(member, `${pointer}/${group}/${index}`, found)
  return found
}

const isOfMembers = (name: string) =>
  name.startsWith('subject.') && (name === 'subject.department_id' || !builtInAttributes.has(name))
