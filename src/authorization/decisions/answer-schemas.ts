import { z } from 'zod'
import { policyEffects } from '../../policy-engine/compile/policy-document.ts'
import type { AttributeFaults, IllTyped } from '../../policy-engine/evaluate/attribute-faults.ts'
import type { UnknownWords } from '../../request/policies-in-force.ts'

export const effectSchema = z.enum(policyEffects)

/** A reason as callers read it. */
export const reasonSchema = z.object({
  code: z.string(),
  layer: z.string(),
  message: z.string(),
  policy_id: z.string().optional(),
  rule: z.string().optional().meta({ description: 'Of `platform_rule`: the name of the rule' }),
})

/** A matched policy as callers read it. */
export const matchedSchema = z.object({
  policy_id: z.uuid(),
  version: z.int(),
  name: z.string(),
  effect: effectSchema,
})

/** What a policy in shadow mode would have done to a decision. */
export const shadowSchema = z.object({
  policy_id: z.uuid(),
  version: z.int(),
  name: z.string(),
  effect: effectSchema,
  outcome: z.enum(['would_deny', 'would_gate', 'would_allow', 'applied', 'none', 'error']).meta({
    description: '`applied`: it had a part and would not have changed the effect',
  }),
})

/** An obligation as callers read it. */
export const obligationSchema = z.object({
  type: z.string(),
  properties: z.record(z.string(), z.unknown()).optional(),
})

/** Attributes with values of another type than policies read. */
export const illTypedSchema = z
  .array(z.object({ name: z.string(), expected: z.string(), got: z.string() }))
  .meta({
    description:
      'Attributes that policies read and that have a value of another type, which counts as missing: `expected` is the type of the attribute, `got` that of the value; 64 at most',
  })

/** Possible mistakes in an answered query. */
export const hintsShape = {
  missing_attributes: z
    .array(z.string())
    .meta({ description: 'Attributes that policies read and the question lacked; 64 at most' }),
  ill_typed_attributes: illTypedSchema,
  ignored_properties: z.array(z.string()).meta({
    description:
      'Attributes that policies read and the question sent, but of which a registered or built-in value counts, or none; 64 at most',
  }),
  unknown_action: z
    .boolean()
    .meta({ description: 'No policy in force, no role of the tenant and no manifest names the action' }),
  unknown_resource_type: z.boolean().meta({
    description:
      'No policy in force, no role of the tenant and no manifest names the type of the resource, and none is registered by the id',
  }),
}

export interface Hints {
  missing_attributes: string[]
  ill_typed_attributes: IllTyped[]
  ignored_properties: string[]
  unknown_action: boolean
  unknown_resource_type: boolean
}

/** The hints for a reader. Unless `whole`, they leave out which attributes of members the tenant's policies read. */
export function hintsOf(
  whole: boolean,
  { missing = [], illTyped = [], ignored = [] }: Partial<AttributeFaults>,
  unknown: UnknownWords = { action: false, resourceType: false },
): Hints {
  const isShown = (name: string) => whole || !name.startsWith('subject.')
  return {
    missing_attributes: missing.filter(isShown),
    ill_typed_attributes: illTyped.filter(({ name }) => isShown(name)),
    ignored_properties: ignored.filter(isShown),
    unknown_action: unknown.action,
    unknown_resource_type: unknown.resourceType,
  }
}
