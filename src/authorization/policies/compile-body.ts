import { createHash } from 'node:crypto'
import { canonicalJson } from '../../crypto/canonical-json.ts'
import { invalidField } from '../../errors.ts'
import { compilePolicy } from '../../policy-engine/compile/compile-policy.ts'
import type { CompiledPolicy } from '../../policy-engine/compile/compiled-policy.ts'
import type { Warning } from '../../policy-engine/compile/policy-document.ts'
import { policyInvalid } from '../../request/body/policy-invalid.ts'
import type { StoredModule } from './active-store.ts'
import type { Draft } from './policy-body.ts'
import { type PolicySchema, roleFinder } from './policy-schema.ts'
import type { NewPolicy, Rules } from './store.ts'

/** A valid policy, ready to be stored or tried. */
export interface Compiled {
  fields: NewPolicy['fields']
  rules: Rules
  compiled: CompiledPolicy
  warnings: readonly Warning[]
  checksum: string
  /** null unless the policy is of the kind rego */
  module: StoredModule | null
}

export type PatternCost = (pattern: string) => number | undefined

/**
 * Compiles a policy with the tenant's roles and attributes. Throws 400 if `valid_until` is not after `valid_from`, and
 * 422 `policy_invalid` for faults in the rules, each with its line and column in `text`; `at` is the JSON Pointer of the
 * policy in the text. `module` is the compiled module of a policy of the kind rego.
 */
export function compileBody(
  body: Draft,
  schema: PolicySchema,
  patternCostUs: PatternCost | undefined,
  text: () => string,
  at = '',
  module: StoredModule | null = null,
): Compiled {
  const { subjects, conditions, approval, obligations, module: source, kind: _kind, ...fields } = body
  if (fields.valid_from !== null && fields.valid_until !== null && fields.valid_until <= fields.valid_from)
    throw invalidField('valid_until', 'valid_until has to be after valid_from.')
  const result = compilePolicy(
    {
      ...fields,
      subjects,
      conditions,
      approval,
      obligations,
      ...(module && { module: source ?? undefined }),
    },
    {
      attributes: schema.attributes,
      role: roleFinder(schema),
      ...(patternCostUs && { patternCostUs }),
      ...(module && { module }),
    },
  )
  if ('faults' in result) throw policyInvalid(result.faults, text(), at)
  const { document, policy: compiled, warnings } = result
  const rules = {
    subjects: document.subjects,
    conditions: document.conditions,
    approval: document.approval,
    obligations: document.obligations,
    ...(module && { module: document.module }),
  }
  return { fields, rules, compiled, warnings, module, checksum: checksumOf({ ...fields, ...rules }) }
}

/** SHA-256 (hex) of the canonical JSON of a policy, independent of the order of members. */
export const checksumOf = (value: unknown): string =>
  createHash('sha256').update(canonicalJson(value)).digest('hex')
