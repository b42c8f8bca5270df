import { z } from 'zod'
import { nilUuid } from '../../crypto/uuid.ts'
import { managedBy, rfc3339, timestamp } from '../../request/body/schemas.ts'
import { warningsSchema } from '../../request/warnings.ts'
import { effectSchema, obligationSchema } from '../decisions/answer-schemas.ts'
import { conditionSchema } from './condition-schema.ts'
import { kindOf, type PolicyRow, type Rules, type Source, type VersionRow } from './store.ts'
import type { Written } from './write-policy.ts'

const document = {
  name: z.string(),
  description: z.string(),
  kind: z.enum(['json', 'rego']),
  effect: effectSchema,
  resource_types: z.array(z.string()),
  actions: z.array(z.string()),
  subjects: z.object({
    roles: z.array(z.string()),
    departments: z.array(z.string()),
    users: z.array(z.string()),
  }),
  conditions: conditionSchema.nullable().meta({ description: 'Null: always true' }),
  module: z
    .string()
    .nullable()
    .meta({ description: 'Of the kind rego: the text of its module, in place of conditions' }),
  approval: z
    .object({
      quorum: z.int(),
      approver: z.object({ roles: z.array(z.string()) }),
      expires_in: z.int(),
      valid_for: z.int(),
    })
    .nullable(),
  obligations: z.array(obligationSchema),
  mode: z.enum(['enforce', 'shadow']),
  priority: z.int(),
  valid_from: timestamp.nullable(),
  valid_until: timestamp.nullable(),
  is_active: z.boolean(),
}

export const policySchema = z
  .object({
    id: z.uuid(),
    ...document,
    version: z.int(),
    checksum: z.string().meta({ description: 'SHA-256 of the policy; equal for equal policies' }),
    managed_by: managedBy,
    managed_as: z.string().nullable().meta({ description: 'Its key in the manifest' }),
    is_optional: z.boolean().meta({
      description: 'Of a managed policy: whether you can turn it on and off with `is_active`',
    }),
    module_off_at: timestamp.nullable().meta({
      description:
        'When its module was switched off, because it took too much time; until a new version it denies',
    }),
    created_by: z.uuid().nullable().meta({ description: 'Null for a managed policy' }),
    created_at: timestamp,
    updated_at: timestamp,
    warnings: warningsSchema,
  })
  .meta({ id: 'Policy' })

export const versionSchema = z
  .object({
    policy_id: z.uuid(),
    version: z.int(),
    ...document,
    checksum: z.string(),
    author: z.object({ id: z.uuid().nullable(), email: z.string().nullable() }),
    reason: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'PolicyVersion' })

type Roles = Written['roles']

/** A policy as callers read it, with the names of roles. */
export function showPolicy(row: PolicyRow, roles: Roles, warnings?: Written['warnings']) {
  const {
    rules,
    valid_from,
    valid_until,
    created_at,
    updated_at,
    module_off_at,
    chosen_active: _,
    ...rest
  } = row
  return {
    ...rest,
    created_by: authorOf(row.created_by),
    ...showRules(rules, roles),
    valid_from: momentOf(valid_from),
    valid_until: momentOf(valid_until),
    module_off_at: momentOf(module_off_at),
    created_at: rfc3339(created_at),
    updated_at: rfc3339(updated_at),
    ...(warnings && { warnings: [...warnings] }),
  }
}

/** A version of a policy as callers read it. */
export function showVersion(row: VersionRow, roles: Roles) {
  const { subjects, conditions, approval, obligations, module, valid_from, valid_until, ...fields }: Source =
    row.source
  return {
    policy_id: row.policy_id,
    version: row.version,
    ...fields,
    kind: kindOf({ module }),
    ...showRules({ subjects, conditions, approval, obligations, module }, roles),
    valid_from: momentOf(valid_from),
    valid_until: momentOf(valid_until),
    checksum: row.checksum,
    author: { id: authorOf(row.author_id), email: row.author_email },
    reason: row.reason,
    created_at: rfc3339(row.created_at),
  }
}

/** Null for the author of managed policies. */
const authorOf = (id: string) => (id === nilUuid ? null : id)

const momentOf = (ms: number | null) => (ms === null ? null : rfc3339(ms))

function showRules({ subjects, conditions, approval, obligations, module }: Rules, roles: Roles) {
  const names = new Map(roles.map(({ id, name }) => [id, name]))
  const named = (ids: readonly string[]) => ids.map((id) => names.get(id) ?? id)
  return {
    subjects: { ...subjects, roles: named(subjects.roles) },
    conditions,
    module: module ?? null,
    approval: approval && { ...approval, approver: { roles: named(approval.approver.roles) } },
    obligations,
  }
}
