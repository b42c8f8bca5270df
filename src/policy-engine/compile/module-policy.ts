import { positionAt } from '../../text/text-position.ts'
import { type CheckedCondition, isEmptyCondition } from './check-condition.ts'
import { type CompiledPolicy, moduleFinding } from './compiled-policy.ts'
import type { AttributeCatalogue } from './conditions.ts'
import type { Fault, PolicySource } from './policy-document.ts'

/** A compiled module: its key, and the attributes that it reads, each with whether it needs them. */
export interface ModuleReads {
  key: string
  attributes: Readonly<Record<string, 'needed' | 'optional'>>
}

// Of the 2 ms that the policies of one query can take: at most eight modules.
const moduleCostUs = 250

// A refusal names as many faults.
const maxNamed = 50

/**
 * The condition of a policy with a module: that the module found something. Its faults: conditions beside the module, an
 * effect that modules do not have, attributes that the tenant has not defined.
 */
export function checkModule(
  { effect, conditions, module: text = '' }: PolicySource,
  module: ModuleReads | undefined,
  catalogue: AttributeCatalogue,
): { condition: CheckedCondition; faults: Fault[] } {
  if (!module) throw new Error('the module of the policy was not compiled')
  const faults: Fault[] = []
  if (effect === 'require_approval')
    faults.push({ pointer: '/effect', code: 'invalid', detail: 'A module can only allow or deny.' })
  if (!isEmptyCondition(conditions))
    faults.push({
      pointer: '/conditions',
      code: 'invalid',
      detail: 'A policy of the kind rego has a module in place of conditions.',
    })
  const code = text.replaceAll(/#.*/g, (comment) => ' '.repeat(comment.length))
  const unknown = Object.keys(module.attributes).filter((name) => !catalogue.has(name))
  for (const name of unknown.slice(0, maxNamed))
    faults.push({
      pointer: '/module',
      code: 'unknown_attribute',
      detail: `The module reads input.${name}, and the tenant has no attribute ${name}. Define it first.`,
      position: positionAt(text, placeOf(code, name)),
    })
  const leaf = {
    attribute: moduleFinding(module.key),
    operator: 'eq',
    value: true,
    wanted: true,
  } as const
  return { condition: { leaf, costUs: moduleCostUs }, faults }
}

/** Where a module without its comments reads an attribute: `input.resource.key`, or `object.get(input.resource, "key", …)`. */
function placeOf(code: string, name: string): number {
  const key = JSON.stringify(name.slice(name.indexOf('.') + 1))
  for (const form of [`input.${name}`, key])
    for (let at = code.indexOf(form); at >= 0; at = code.indexOf(form, at + 1))
      if (!/\w/.test(code[at + form.length] ?? '')) return at
  return 0
}

/** A compiled policy with the module that it uses and the attributes that the module reads. */
export function withModule(
  policy: CompiledPolicy,
  { module, attributes }: { module?: ModuleReads | undefined; attributes: AttributeCatalogue },
): CompiledPolicy {
  if (!module) return policy
  const names = Object.keys(module.attributes)
  const read = Object.fromEntries(names.map((name) => [name, attributes.get(name)?.type ?? 'string']))
  const needed = names.filter((name) => module.attributes[name] === 'needed').sort()
  return {
    ...policy,
    attributes: { ...policy.attributes, ...read },
    module: { key: module.key, needed },
  }
}
