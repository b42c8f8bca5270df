import { createHash } from 'node:crypto'
import { canonicalJson } from '../../crypto/canonical-json.ts'
import { builtInAttributes } from '../../policy-engine/catalogue/built-in-attributes.ts'
import { rawAttributes } from '../../policy-engine/evaluate/attributes.ts'
import type { ApplicationQuery } from '../../policy-engine/evaluate/query.ts'
import type { SlicedPolicies } from '../policies/slice-policies.ts'
import type { EvaluationContext, GateRef, KeptValues } from './store.ts'

/** An evaluation as an approval is bound to it. */
export interface BoundEvaluation {
  /** of the evaluation, with what its gates read */
  digest: string
  /** what the gates read, as it counts: approvers see it, and it is decided again with it */
  read: Omit<EvaluationContext, 'decision_id'>
  /** what the other policies read of what was sent */
  kept: KeptValues
}

/**
 * Binds an evaluation to what its gates read of the resource, the action and the sent context. Time, address, session and the
 * attributes of the subject are not bound: they are decided anew when the approval is used. Null if a gate is not in
 * force in this version.
 */
export function bindEvaluation(
  query: ApplicationQuery,
  policies: SlicedPolicies,
  gates: readonly GateRef[],
): BoundEvaluation | null {
  const names = attributesOfGates(policies, gates)?.filter(isBound)
  if (!names) return null
  // Not as policies compare them: two values that are no number, or too long, must not be the same value.
  const values = rawAttributes(query, names)
  const { subject, action, resource } = query
  // A registration that was made or deleted since changes who says what the resource is.
  const isKnown = names.some((name) => name.startsWith('resource.')) && resource.fields !== undefined
  const bound = {
    subject: { type: subject.type, id: subject.id },
    action,
    resource: { type: resource.type, id: resource.id, isKnown },
    values,
  }
  const digest = createHash('sha256').update(canonicalJson(bound)).digest('hex')
  return { digest, read: readBy(values), kept: keptOf(query, new Set(names)) }
}

function attributesOfGates({ active }: SlicedPolicies, gates: readonly GateRef[]): string[] | null {
  const found = gates.map(({ policy_id, version }) =>
    active.policies.find((policy) => policy.id === policy_id && policy.version === version),
  )
  const attributes = new Set(found.flatMap((policy) => Object.keys(policy?.compiled.attributes ?? {})))
  return found.includes(undefined) ? null : [...attributes].sort()
}

const alwaysBound: ReadonlySet<string> = new Set(['resource.type', 'resource.id', 'action.name'])

const isBound = (name: string): boolean =>
  (/^(resource|action)\./.test(name) && !alwaysBound.has(name)) ||
  (name.startsWith('environment.') && !builtInAttributes.has(name))

function readBy(values: Record<string, unknown>): BoundEvaluation['read'] {
  const of = (category: string) => membersOf(values, category)
  const ofAction = of('action')
  return {
    properties: of('resource'),
    ...(Object.keys(ofAction).length > 0 && { action_properties: ofAction }),
    context: of('environment'),
  }
}

const membersOf = (values: Record<string, unknown>, category: string) =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([name]) => name.startsWith(`${category}.`))
      .map(([name, value]) => [name.slice(category.length + 1), value]),
  )

function keptOf({ sent, slice }: ApplicationQuery, shown: ReadonlySet<string>): KeptValues {
  const of = (category: keyof KeptValues) =>
    Object.fromEntries(
      Object.entries(sent?.[category] ?? {}).filter(([key]) => {
        const name = `${category}.${key}`
        return Object.hasOwn(slice.attributes, name) && !shown.has(name)
      }),
    )
  return {
    subject: of('subject'),
    resource: of('resource'),
    action: of('action'),
    environment: of('environment'),
  }
}
