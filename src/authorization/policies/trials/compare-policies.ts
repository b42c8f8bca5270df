import { wildcardOf } from '../../../policy-engine/catalogue/actions.ts'
import type { CompiledPolicy, SlicePolicy } from '../../../policy-engine/compile/compiled-policy.ts'
import type { Subjects, Warning } from '../../../policy-engine/compile/policy-document.ts'
import { unknownActions } from '../../../policy-engine/compile/unknown-actions.ts'
import type { PolicyInStore } from '../active-store.ts'

/**
 * Warnings about a policy that depend on the tenant's other policies. `names` are the actions that roles and manifests
 * name, and their resources with a colon.
 */
export function comparePolicies(
  { id, compiled }: Pick<SlicePolicy, 'id' | 'compiled'>,
  active: readonly PolicyInStore[],
  names: readonly string[],
): Warning[] {
  const others = active.filter((other) => other.id !== id)
  const named = new Set([...names, ...others.flatMap((other) => other.compiled.actions)])
  return [...unknownActions(compiled.actions, named, '/actions'), ...shadowing(compiled, others)]
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
  return (
    policy.actions.every(
      (name) => named.has('*') || named.has(name) || (name !== '*' && named.has(wildcardOf(name))),
    ) &&
    (deny.resourceTypes.length === 0 || isSubset(policy.resourceTypes, deny.resourceTypes)) &&
    coversSubjects(deny.subjects, policy.subjects)
  )
}

const isSubset = (part: readonly string[], whole: readonly string[]) =>
  part.length > 0 && isWithin(part, new Set(whole))

const isWithin = (part: readonly string[], whole: ReadonlySet<string>) => part.every((one) => whole.has(one))

function coversSubjects(deny: Subjects, policy: Subjects): boolean {
  const kinds = ['roles', 'departments', 'users'] as const
  if (kinds.every((kind) => deny[kind].length === 0)) return true
  const named = kinds.some((kind) => policy[kind].length > 0)
  return named && kinds.every((kind) => isWithin(policy[kind], new Set(deny[kind])))
}
