import { z } from 'zod'
import type { Condition } from './conditions.ts'

/** What a policy does where it applies. */
export const policyEffects = ['allow', 'deny', 'require_approval'] as const
export type PolicyEffect = (typeof policyEffects)[number]

const name = z.string().min(1).max(120)
const seconds = z
  .int()
  .min(1)
  .max(366 * 86_400)

/** Whom a policy is about: any one of these; all empty: everyone. Roles as ids, after `compilePolicy`. */
export const subjectsSchema = z.object({
  roles: z.array(name).max(256).default([]),
  departments: z.array(z.uuid()).max(256).default([]),
  users: z.array(z.uuid()).max(256).default([]),
})
export type Subjects = z.infer<typeof subjectsSchema>

/** What a gate asks for; `expires_in` (to decide) and `valid_for` (to use it) in seconds. */
export const approvalSchema = z.object({
  quorum: z.int().min(1).max(20).default(1),
  approver: z
    .object({ roles: z.array(name).min(1).max(256).default(['owner', 'admin']) })
    .default({ roles: ['owner', 'admin'] }),
  expires_in: seconds.default(86_400),
  valid_for: seconds.default(3600),
})
export type Approval = z.infer<typeof approvalSchema>

/** Something that comes with an answer; the service itself carries out `mask_fields` and `step_up`. */
export const obligationSchema = z.object({
  type: z.string().regex(/^[a-z][a-z0-9_.:-]{0,62}$/),
  properties: z.record(z.string(), z.json()).optional(),
})
export type Obligation = z.infer<typeof obligationSchema>

/**
 * A policy as it comes: the plain fields are checked already (400), what is inside the four unknown ones is
 * for `compilePolicy` to find fault with (422). Times are ms since the epoch.
 */
export interface PolicySource {
  effect: PolicyEffect
  resource_types: readonly string[]
  actions: readonly string[]
  valid_from: number | null
  valid_until: number | null
  subjects: unknown
  conditions: unknown
  approval: unknown
  obligations: unknown
}

/** A policy without fault, defaults filled in and roles as ids: what is stored and answered. */
export interface PolicyDocument extends PolicySource {
  subjects: Subjects
  conditions: Condition | null
  approval: Approval
  obligations: Obligation[]
}

/** One fault inside a policy; `pointer` is a JSON Pointer (RFC 6901) into the document. */
export interface Fault {
  pointer: string
  code: FaultCode
  detail: string
}

export type FaultCode =
  | 'invalid'
  | 'required'
  | 'malformed_id'
  | 'unknown_role'
  | 'unknown_attribute'
  | 'operator_not_allowed'
  | 'type_mismatch'
  | 'obligation_not_allowed'
  | 'too_large'
  | 'too_costly'

/** Something stored that will have no effect, so that its author learns why. */
export interface Warning {
  pointer: string
  code: 'not_grantable' | 'not_gateable'
}
