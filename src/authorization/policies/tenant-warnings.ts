import type { Deps } from '../../deps.ts'
import { readInTenant } from '../../platform/db/read.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { isServiceAction, serviceResources, wildcardOf } from '../../policy-engine/catalogue/actions.ts'
import type { CompiledPolicy } from '../../policy-engine/compile/compiled-policy.ts'
import type { Subjects, Warning } from '../../policy-engine/compile/policy-document.ts'
import type { Compiled } from './compile-body.ts'
import { departmentsNamed, memberAttributes } from './condition-names.ts'
import { type ActivePolicies, listActivePolicies, type PolicyInStore } from './store.ts'
import {
  countApprovers,
  countMembersWith,
  listAllPermissions,
  listDeclaredActions,
  listDepartmentsAmong,
} from './tenant-warnings-store.ts'

/**
 * Warnings about a policy that depend on the tenant: its other policies, roles and members. None prevents writing it. Also gives
 * the tenant's active policies.
 */
export async function tenantWarnings(
  { db }: Pick<Deps, 'db'>,
  caller: Pick<Caller, 'tenantId' | 'userId'>,
  { id, compiled: { compiled, rules } }: { id: string; compiled: Compiled },
): Promise<{ warnings: Warning[]; active: ActivePolicies }> {
  const { tenantId } = caller
  const wanted = memberAttributes(rules.conditions)
  const named = departmentsNamed(rules.conditions)
  const found = await readInTenant(db, caller, async (read) => {
    const asked = [
      listActivePolicies(read, tenantId),
      listAllPermissions(read, tenantId),
      listDeclaredActions(read),
      countApprovers(read, tenantId, compiled.approval?.approver.roles ?? []),
      countMembersWith(read, tenantId, [...wanted.keys()]),
      listDepartmentsAmong(read, tenantId, [...named.keys()]),
    ] as const
    const [active, permissions, declared, approvers, members, departments] = await Promise.all(asked)
    return { active, names: [...permissions, ...declared], approvers, members, departments }
  })
  const others = found.active.policies.filter((other) => other.id !== id)
  const warnings = [
    ...unknownActions(compiled, others, found.names),
    ...shadowing(compiled, others),
    ...quorumWarnings(compiled, found.approvers),
    ...rareAttributes(compiled, wanted, found.members),
    ...unknownDepartments(named, found.departments),
  ]
  return { warnings, active: found.active }
}

function unknownDepartments(named: ReadonlyMap<string, string>, departments: ReadonlySet<string>): Warning[] {
  const unknown = [...named].filter(([id]) => !departments.has(id))
  return unknown.map(([id, pointer]) => ({
    pointer,
    code: 'unknown_department',
    detail: `The tenant has no department ${id}, so no department is in it.`,
  }))
}

/** Actions of an application that no role, no manifest and no other policy names. */
function unknownActions(
  { actions }: CompiledPolicy,
  others: readonly PolicyInStore[],
  names: readonly string[],
): Warning[] {
  const named = new Set([...names, ...others.flatMap(({ compiled }) => compiled.actions)])
  const resources = new Set([...named].map((name) => name.split(':')[0]))
  const isKnown = (name: string) => {
    const [resource = '', verb] = name.split(':')
    if (name === '*' || isServiceAction(name) || serviceResources.has(resource)) return true
    return verb === '*' ? resources.has(resource) : named.has(name) || named.has(wildcardOf(name))
  }
  return actions.flatMap((name, index) => {
    const detail = `No role, manifest or other policy names ${name}: check the spelling. It applies if your application asks for it.`
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
