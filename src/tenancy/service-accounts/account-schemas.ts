import { z } from 'zod'
import { written } from '../../request/body/known-members.ts'
import { bodyId, rfc3339, timestamp } from '../../request/body/schemas.ts'
import { type AccountRow, shownStatus } from '../members/account-store.ts'
import { documentedFields, memberAttributes, roleNames, roleReference } from '../members/member-schemas.ts'

export const accountSchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    description: z.string(),
    roles: z.array(z.string()),
    department_id: z.uuid().nullable(),
    attributes: z.record(z.string(), z.unknown()),
    status: z.enum(['active', 'disabled']),
    membership_id: z.uuid().meta({ description: 'The same as `id`' }),
    created_by: z.uuid().nullable(),
    created_at: timestamp,
    last_used_at: timestamp.nullable().meta({ description: 'To the minute' }),
  })
  .meta({ id: 'ServiceAccount' })

export const showAccount = (row: AccountRow) => ({
  id: row.id,
  name: row.name,
  description: row.description,
  roles: row.roles,
  department_id: row.department_id,
  attributes: row.attributes,
  status: shownStatus(row.status),
  membership_id: row.id,
  created_by: row.created_by,
  created_at: rfc3339(row.created_at),
  last_used_at: row.last_used_at === null ? null : rfc3339(row.last_used_at),
})

/** The fields of a service account that the audit log records. */
export const auditedAccount = ({
  name,
  description,
  roles,
  department_id,
  attributes,
  status,
}: AccountRow) => ({
  name,
  description,
  roles,
  department_id,
  attributes,
  status: shownStatus(status),
})

/** A service account as a resource in policies. It has no owner. */
export const accountResource = (account: AccountRow) => ({
  type: 'service_account',
  id: account.id,
  fields: showAccount(account),
})

/** A name of up to 120 characters. `what` names the object in the error. */
export const nameOf = (what: string) =>
  z
    .string('Give the name as text.')
    .trim()
    .min(1, `Give the ${what} a name.`)
    .refine((text) => [...text].length <= 120, 'A name can have at most 120 characters.')
    .meta({ maxLength: 120, example: 'nightly-report' })

const description = z
  .string('Give the description as text.')
  .refine((text) => [...text].length <= 2000, 'A description can have at most 2000 characters.')

const fields = {
  roles: roleNames.optional(),
  role: roleReference.optional(),
  department_id: bodyId.nullable().optional(),
  attributes: memberAttributes.optional(),
}

const { roles, role, department_id, attributes } = documentedFields
const documented = {
  name: { type: 'string', minLength: 1, maxLength: 120, example: 'nightly-report' },
  description: { type: 'string', maxLength: 2000 },
  roles,
  role,
  department_id,
  attributes,
} as const

const newAccountBody = z
  .object({ name: nameOf('service account'), description: description.default(''), ...fields })
  .transform(({ roles, role, ...rest }) => ({
    ...rest,
    roles: roles ?? (role === undefined ? ['member'] : [role]),
  }))
  .meta({
    override: {
      type: 'object',
      required: ['name'],
      properties: { ...documented, roles: { ...documented.roles, default: ['member'] } },
    },
  })

/** A new account is active: `status` cannot be sent back. */
export const newAccount = written(newAccountBody, { shownAs: accountSchema.omit({ status: true }) })

export type NewAccount = z.output<typeof newAccount>

export const accountChange = z
  .object({
    name: nameOf('service account').optional(),
    description: description.optional(),
    status: z.enum(['active', 'disabled'], 'The status is active or disabled.').optional(),
    ...fields,
  })
  .transform(({ roles, role, ...rest }) => ({
    ...rest,
    roles: roles ?? (role === undefined ? undefined : [role]),
  }))
  .meta({
    override: {
      type: 'object',
      properties: { ...documented, status: { type: 'string', enum: ['active', 'disabled'] } },
    },
  })

export type AccountChange = z.output<typeof accountChange>
