import { z } from 'zod'
import type { oas31 } from 'zod-openapi'
import {
  attributeKey,
  attributeKeySentence,
  isReservedKey,
  reservedKeySentence,
} from '../../policy-engine/catalogue/attribute-keys.ts'
import { written } from '../../request/body/known-members.ts'
import { anyObject, bodyId, rfc3339, timestamp } from '../../request/body/schemas.ts'
import { provenFields } from '../../request/route-resources.ts'
import { documentedExternalId, externalId } from './name-member.ts'
import { type MemberRow, memberKinds } from './store.ts'

export const memberSchema = z
  .object({
    id: z.uuid(),
    kind: z.enum(memberKinds),
    user: z
      .object({
        id: z.uuid(),
        email: z.string(),
        first_name: z.string(),
        last_name: z.string(),
        is_active: z.boolean(),
      })
      .nullable()
      .meta({ description: 'The person; null for a service account' }),
    service_account: z
      .object({ id: z.uuid(), name: z.string() })
      .nullable()
      .meta({ description: 'The service account; null for a person' }),
    user_id: z.uuid().nullable(),
    email: z.string().nullable(),
    email_verified: z
      .boolean()
      .nullable()
      .meta({ description: 'Whether the person has verified the address' }),
    external_id: z
      .string()
      .nullable()
      .meta({ description: 'What your applications and directory call the person' }),
    roles: z.array(z.string()),
    department_id: z.uuid().nullable(),
    manager_id: z.uuid().nullable().meta({ description: 'The user id of the manager, a member too' }),
    status: z.enum(['active', 'suspended']),
    attributes: z.record(z.string(), z.unknown()),
    joined_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Member' })

export function showMember(row: MemberRow) {
  const { id, kind, user_id, email, email_verified, first_name, last_name, is_active } = row
  const isPerson = user_id !== null
  return {
    id,
    kind,
    user: isPerson ? { id: user_id, email, first_name, last_name, is_active: is_active ?? false } : null,
    service_account: isPerson ? null : { id, name: first_name },
    user_id,
    email: isPerson ? email : null,
    email_verified: isPerson ? email_verified : null,
    external_id: row.external_id,
    roles: row.roles,
    department_id: row.department_id,
    manager_id: row.manager_id,
    status: row.status,
    attributes: row.attributes,
    joined_at: rfc3339(row.joined_at),
    updated_at: rfc3339(row.updated_at),
  }
}

/** The fields of a membership that the audit log records. */
export const auditedMember = ({
  user_id,
  external_id,
  roles,
  department_id,
  manager_id,
  status,
  attributes,
}: MemberRow) => ({
  user_id,
  external_id,
  roles,
  department_id,
  manager_id,
  status,
  attributes,
})

/** One role, by name or id. 128: a name has up to 64 characters of one or two UTF-16 units each. */
export const roleReference = z
  .string('Name the role as text.')
  .min(1, 'Name the role.')
  .max(128, 'There is no such role.')

/** The roles of a member, by name or id. */
export const roleNames = z
  .array(roleReference, 'Give roles as a list of names.')
  .min(1, 'A member needs at least one role.')
  .max(32, 'A member can have at most 32 roles.') // each request reads the permissions of all of them

/** Attribute values. Policies read them as `subject.<key>`. */
export const memberAttributes = anyObject('Give the attributes as an object.').superRefine(
  (values, context) => {
    const refuse = (key: string, message: string) =>
      context.addIssue({ code: 'custom', path: [key], message })
    for (const key of Object.keys(values)) {
      if (!attributeKey.test(key)) refuse(key, attributeKeySentence)
      else if (isReservedKey(key)) refuse(key, reservedKeySentence)
    }
    if (Buffer.byteLength(JSON.stringify(values)) > 16_384)
      context.addIssue({ code: 'custom', message: 'Attributes can have at most 16 KiB.' })
  },
)

const fields = {
  roles: roleNames.optional(),
  role: roleReference.optional(),
  department_id: bodyId.nullable().optional(),
  manager_id: bodyId.nullable().optional(),
  external_id: externalId.nullable().optional(),
  attributes: memberAttributes.optional(),
}

export const documentedFields = {
  roles: {
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: 128 },
    minItems: 1,
    maxItems: 32,
    description: 'Names or ids',
  },
  role: { type: 'string', minLength: 1, maxLength: 128, description: 'One role, instead of `roles`' },
  department_id: { type: ['string', 'null'], format: 'uuid' },
  manager_id: { type: ['string', 'null'], format: 'uuid', description: 'The user id of another member' },
  external_id: documentedExternalId,
  attributes: { type: 'object', additionalProperties: true },
} satisfies Record<string, oas31.SchemaObject>

const newMemberBody = z
  .object({ user_id: bodyId.optional(), email: z.unknown().optional(), ...fields })
  .transform(({ user_id, email, roles, role, ...rest }, context) => {
    if (user_id !== undefined)
      return { ...rest, user_id, roles: roles ?? (role === undefined ? ['member'] : [role]) }
    const [path, message] =
      email === undefined
        ? ['user_id', 'Give the id of the person to add.']
        : ['email', 'To add an address, invite it: POST /api/v1/tenants/<id>/invitations/.']
    context.addIssue({ code: 'custom', path: [path], message })
    return z.NEVER
  })
  .meta({
    override: {
      type: 'object',
      required: ['user_id'],
      properties: {
        user_id: { type: 'string', format: 'uuid' },
        ...documentedFields,
        roles: { ...documentedFields.roles, default: ['member'] },
      },
    },
  })

/** A new member is active: `status` cannot be sent back. */
export const newMember = written(newMemberBody, { shownAs: memberSchema.omit({ status: true }) })

export type NewMember = z.output<typeof newMember>

export const memberChange = z
  .object({
    ...fields,
    status: z.enum(['active', 'suspended'], 'The status is active or suspended.').optional(),
  })
  .transform(({ roles, role, ...rest }) => ({
    ...rest,
    roles: roles ?? (role === undefined ? undefined : [role]),
  }))
  .meta({
    override: {
      type: 'object',
      properties: { ...documentedFields, status: { type: 'string', enum: ['active', 'suspended'] } },
    },
  })

export type MemberChange = z.output<typeof memberChange>

/** A member as a resource in policies. */
export const memberResource = (member: MemberRow) => ({
  type: 'member',
  id: member.id,
  ownerId: member.user_id,
  fields: provenFields(showMember(member)),
})
