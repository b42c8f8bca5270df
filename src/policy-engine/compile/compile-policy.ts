import { actionNames, actions, isServiceAction, serviceResources } from '../catalogue/actions.ts'
import {
  type CheckedCondition,
  type ConditionContext,
  checkCondition,
  isEmptyCondition,
} from './check-condition.ts'
import { type CompiledPolicy, isModuleFinding, type Leaf } from './compiled-policy.ts'
import { proofOf } from './condition-proof.ts'
import { conditionWarnings } from './condition-warnings.ts'
import type { AttributeCatalogue, Condition, DataType } from './conditions.ts'
import { attributeOf, derivedFrom } from './departments.ts'
import { checkModule, type ModuleReads, withModule } from './module-policy.ts'
import { checkObligations, misspeltObligations } from './obligations.ts'
import { parsePart } from './parse-part.ts'
import {
  type Approval,
  approvalSchema,
  type Fault,
  type PolicyDocument,
  type PolicySource,
  type Subjects,
  subjectsSchema,
  type Warning,
} from './policy-document.ts'
import { maxSliceCostUs } from './slice-size.ts'

interface CompileContext extends ConditionContext {
  /** the id of a role by name or id; undefined if the tenant has no such role */
  role: (nameOrId: string) => string | undefined
  /** the module of the source, compiled; required if the source has one */
  module?: ModuleReads | undefined
}

export type Compiled =
  | { policy: CompiledPolicy; document: PolicyDocument; warnings: Warning[] }
  | { faults: Fault[] }

const maxBytes = 16 * 1024

/**
 * Compiles a policy, or returns all of its faults. The document is the source with defaults filled in and roles as
 * ids; compiling it again gives the same policy. With `patternCostUs`, which writing a policy passes, patterns are
 * measured.
 */
export function compilePolicy(source: PolicySource, context: CompileContext): Compiled {
  const tooLarge = sizeFault(source)
  if (tooLarge) return { faults: [tooLarge] }
  const faults: Fault[] = []
  const subjects = checkedSubjects(source.subjects, context, faults)
  const approval = checkedApproval(source.approval, context, faults)
  const obligations = checkObligations(source.obligations, source.actions, faults)
  const checked =
    source.module === undefined
      ? checkCondition(source.conditions, context)
      : checkModule(source, context.module, context.attributes)
  faults.push(...checked.faults)
  const conditions = isEmptyCondition(source.conditions) ? null : (source.conditions as Condition)
  const document: PolicyDocument = { ...source, subjects, conditions, approval, obligations }
  const policy = withModule(compiled(document, checked.condition, context.attributes), context)
  if (policy.costUs > maxSliceCostUs) faults.push(tooCostly)
  return faults.length > 0
    ? { faults }
    : { policy, document, warnings: warningsOf(document, checked.condition, context) }
}

const tooCostly: Fault = {
  pointer: '/conditions',
  code: 'too_costly',
  detail: 'Evaluating this takes too long: compare with shorter lists and texts.',
}

function sizeFault({ subjects, conditions, approval, obligations }: PolicySource): Fault | undefined {
  const bytes = Buffer.byteLength(JSON.stringify({ subjects, conditions, approval, obligations }))
  if (bytes <= maxBytes) return undefined
  return {
    pointer: '',
    code: 'too_large',
    detail: `A policy can have at most 16 KiB; this one has ${bytes} bytes.`,
  }
}

function checkedSubjects(value: unknown, context: CompileContext, faults: Fault[]): Subjects {
  const subjects = parsePart(subjectsSchema, value ?? {}, '/subjects', faults)
  if (!subjects) return { roles: [], departments: [], users: [] }
  return { ...subjects, roles: roleIds(subjects.roles, '/subjects/roles', context, faults) }
}

function checkedApproval(value: unknown, context: CompileContext, faults: Fault[]): Approval {
  const approval = parsePart(approvalSchema, value ?? {}, '/approval', faults) ?? approvalSchema.parse({})
  const roles = roleIds(approval.approver.roles, '/approval/approver/roles', context, faults)
  return { ...approval, approver: { roles } }
}

function roleIds(roles: string[], pointer: string, { role }: CompileContext, faults: Fault[]): string[] {
  const ids = roles.map((nameOrId, index) => {
    const id = role(nameOrId)
    const detail = 'The tenant has no role of this name or id.'
    if (id === undefined) faults.push({ pointer: `${pointer}/${index}`, code: 'unknown_role', detail })
    return id ?? nameOrId
  })
  return [...new Set(ids)].sort()
}

function compiled(
  document: PolicyDocument,
  condition: CheckedCondition,
  catalogue: AttributeCatalogue,
): CompiledPolicy {
  const { effect, resource_types, actions, subjects, obligations, approval } = document
  const inForce = withinValidity(document, condition)
  const leaves = leavesOf(inForce)
  const read = leaves.filter(({ leaf }) => !isModuleFinding(leaf.attribute))
  return {
    form: 1,
    effect,
    resourceTypes: resource_types,
    actions,
    subjects,
    proof: proofOf(inForce, effect === 'allow'),
    obligations,
    approval: effect === 'require_approval' ? approval : null,
    attributes: Object.fromEntries(read.flatMap(({ leaf }) => lookedAt(leaf, catalogue))),
    costUs: Math.ceil(leaves.reduce((sum, { costUs }) => sum + costUs, 0)),
  }
}

// The time of the request is an attribute that every decision has.
function withinValidity(
  { valid_from, valid_until }: PolicyDocument,
  condition: CheckedCondition,
): CheckedCondition {
  const time = { attribute: 'environment.time', operator: 'lt' } as const
  const from =
    valid_from === null ? [] : [{ leaf: { ...time, value: valid_from, wanted: false }, costUs: 0.1 }]
  const until =
    valid_until === null ? [] : [{ leaf: { ...time, value: valid_until, wanted: true }, costUs: 0.1 }]
  return { group: 'all', of: [...from, ...until, condition] }
}

function leavesOf(condition: CheckedCondition): { leaf: Leaf; costUs: number }[] {
  return 'leaf' in condition ? [condition] : condition.of.flatMap(leavesOf)
}

function lookedAt({ attribute, from, ends }: Leaf, catalogue: AttributeCatalogue): [string, DataType][] {
  const names = [attribute, ...(from === undefined ? [] : [from]), ...(ends ?? [])]
  // Also the attribute that a name is derived from: explanations show it, and its definition cannot be deleted.
  return [...names, ...names.map(attributeOf)].map((name) => [
    name,
    derivedFrom(name)?.type ?? catalogue.get(name)?.type ?? 'datetime',
  ])
}

function warningsOf(
  document: PolicyDocument,
  condition: CheckedCondition,
  context: CompileContext,
): Warning[] {
  return [
    ...withoutEffect(document),
    ...misspeltObligations(document.obligations),
    ...conditionWarnings(condition, context.attributes),
  ]
}

function withoutEffect({ effect, actions: named }: Pick<PolicySource, 'effect' | 'actions'>): Warning[] {
  if (effect === 'deny') return []
  const code = effect === 'allow' ? 'not_grantable' : 'not_gateable'
  return named.flatMap((name, index) =>
    hasEffect(name, effect === 'allow' ? 'widen' : 'gate')
      ? []
      : [{ pointer: `/actions/${index}`, code, detail: `${name} ${reasonsOf[code]}` }],
  )
}

const reasonsOf = {
  not_grantable: 'can be permitted by roles only, so allowing it here has no effect.',
  not_gateable: 'cannot require an approval, so this has no effect.',
}

// A wildcard has an effect if any action that it covers has one.
function hasEffect(name: string, flag: 'widen' | 'gate'): boolean {
  if (name === '*') return true
  const [resource, verb] = name.split(':') as [string, string]
  if (!serviceResources.has(resource)) return true
  if (verb !== '*') return isServiceAction(name) && actions[name][flag]
  return actionNames.some((action) => action.startsWith(`${resource}:`) && actions[action][flag])
}
