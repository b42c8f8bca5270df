import { readInTenant } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { CompiledPolicy } from '../../policy-engine/compile/compiled-policy.ts'
import type { Warning } from '../../policy-engine/compile/policy-document.ts'
import type { Caller } from '../../request/caller.ts'
import { listActionsInRoles, listDeclaredActions } from '../../tenancy/roles/store.ts'
import { listWordsInRoles } from '../evaluation/store.ts'
import type { Compiled } from './compile-body.ts'
import { departmentsNamed, memberAttributes } from './condition-names.ts'
import { countApprovers, countMembersWith, listDepartmentsAmong } from './store.ts'

/** What the tenant has that a policy names. */
export interface PolicySurroundings {
  /** actions that roles and manifests name, and resource types with a colon */
  names: readonly string[]
  /** warnings that depend on the tenant's roles, members and departments */
  warnings: readonly Warning[]
}

/** Reads what the tenant has that a policy names. No warning prevents writing it. */
export async function readSurroundings(
  { db }: Pick<Deps, 'db'>,
  caller: Pick<Caller, 'tenantId' | 'userId'>,
  { compiled, rules }: Compiled,
): Promise<PolicySurroundings> {
  const { tenantId } = caller
  const wanted = memberAttributes(rules.conditions)
  const named = departmentsNamed(rules.conditions)
  const types = [...new Set(compiled.actions.map((name) => name.split(':')[0] ?? ''))]
  return readInTenant(db, caller, async (read) => {
    const [words, inRoles, declared, approvers, members, departments] = await Promise.all([
      listWordsInRoles(read, tenantId, { actions: compiled.actions, types }),
      listActionsInRoles(read, { tenantId, names: compiled.actions, exceptRole: null }),
      listDeclaredActions(read),
      countApprovers(read, tenantId, compiled.approval?.approver.roles ?? []),
      countMembersWith(read, tenantId, compiled.subjects, [...wanted.keys()]),
      listDepartmentsAmong(read, tenantId, [...named.keys()]),
    ])
    const warnings = [
      ...quorumWarnings(compiled, approvers),
      ...rareAttributes(compiled, wanted, members),
      ...unknownDepartments(named, departments),
    ]
    return { names: [...words, ...inRoles, ...declared], warnings }
  })
}

function unknownDepartments(named: ReadonlyMap<string, string>, departments: ReadonlySet<string>): Warning[] {
  const unknown = [...named].filter(([id]) => !departments.has(id))
  return unknown.map(([id, pointer]) => ({
    pointer,
    code: 'unknown_department',
    detail: `The tenant has no department ${id}, so no department is in it.`,
  }))
}

function quorumWarnings({ effect, approval }: CompiledPolicy, approvers: number): Warning[] {
  if (effect !== 'require_approval' || !approval || approvers >= approval.quorum) return []
  const detail = `Only ${approvers} active members have a role that approves, and the quorum is ${approval.quorum}: no such call can be approved.`
  return [{ pointer: '/approval/quorum', code: 'quorum_unreachable', detail }]
}

/** Attributes that more than half of the active members the policy is about lack, although the condition needs a value. */
function rareAttributes(
  { effect }: CompiledPolicy,
  wanted: ReadonlyMap<string, string>,
  { total, having }: { total: number; having: ReadonlyMap<string, number> },
): Warning[] {
  const consequence = effect === 'allow' ? 'it does not apply to them' : 'it applies to all of them'
  return [...wanted].flatMap(([key, pointer]) => {
    const lacking = total - (having.get(key) ?? 0)
    if (lacking * 2 <= total) return []
    const detail = `${lacking} of ${total} active members that it is about have no subject.${key}. If the condition depends on it, ${consequence}.`
    return [{ pointer, code: 'attribute_rare', detail } as const]
  })
}
