import { z } from 'zod'
import type { TextPosition } from '../../text/text-position.ts'
import type { Condition } from './conditions.ts'

/** What a policy does if it applies. */
export const policyEffects = ['allow', 'deny', 'require_approval'] as const
export type PolicyEffect = (typeof policyEffects)[number]

const name = z.string().min(1).max(120)
const seconds = z
  .int()
  .min(1)
  .max(366 * 86_400)

/** The subjects of a policy: any of these, or everyone if all are empty. Roles are ids after `compilePolicy`. */
export const subjectsSchema = z.object({
  roles: z.array(name).max(256).default([]),
  departments: z.array(z.uuid()).max(256).default([]),
  users: z.array(z.uuid()).max(256).default([]),
})
export type Subjects = z.infer<typeof subjectsSchema>

/** What a gate requires. In seconds: `expires_in` is the time to decide, `valid_for` the time to use the approval. */
export const approvalSchema = z.object({
  quorum: z.int().min(1).max(20).default(1),
  approver: z
    .object({ roles: z.array(name).min(1).max(256).default(['owner', 'admin']) })
    .default({ roles: ['owner', 'admin'] }),
  expires_in: seconds.default(86_400),
  valid_for: seconds.default(3600),
})
export type Approval = z.infer<typeof approvalSchema>

/** A demand that comes with an answer. The service itself enforces `mask_fields` and `step_up`. */
export const obligationSchema = z.object({
  type: z.string().regex(/^[a-z][a-z0-9_.:-]{0,62}$/),
  properties: z.record(z.string(), z.json()).optional(),
})
export type Obligation = z.infer<typeof obligationSchema>

/**
 * A policy as received. The plain fields are checked (400); `compilePolicy` checks the four unknown ones (422). Times
 * are ms since the epoch.
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
  /** the text of the Rego module that takes the place of conditions */
  module?: string | undefined
}

/** A valid policy with defaults filled in and roles as ids, as it is stored and answered. */
export interface PolicyDocument extends PolicySource {
  subjects: Subjects
  conditions: Condition | null
  approval: Approval
  obligations: Obligation[]
}

/** A fault in a policy; `pointer` is a JSON Pointer (RFC 6901) into the document. */
export interface Fault {
  pointer: string
  code: FaultCode
  detail: string
  /** of a fault in a module: its position there */
  position?: TextPosition
  /** of an unknown member: the one that was probably meant */
  meant?: string | null
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
  | 'unknown_member'
  | 'rego'

/** A part of a policy that is stored as it is, and probably a mistake; `pointer` as in a {@link Fault}. */
export interface Warning {
  pointer: string
  code: WarningCode
  detail: string
  /** Of an unknown name: the known one that was probably meant, or null. */
  meant?: string | null
}

export const warningCodes = [
  'not_grantable',
  'not_gateable',
  'never_true',
  'always_true',
  'shadowed_by_deny',
  'quorum_unreachable',
  'attribute_rare',
  'unknown_action',
  'unknown_department',
  'unknown_obligation',
] as const
export type WarningCode = (typeof warningCodes)[number]
