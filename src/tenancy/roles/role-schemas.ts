import { z } from 'zod'
import { permissionsOf, type SystemRole } from '../../policy-engine/catalogue/actions.ts'
import { managedBy, rfc3339, timestamp } from '../../request/body/schemas.ts'
import { warningsSchema } from '../../request/warnings.ts'
import { permissionList } from './permissions.ts'
import type { RoleDetailRow } from './store.ts'

// The same lists take roles by name or id, so a name that looks like an id is ambiguous.
const looksLikeId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const roleName = z
  .string('Give the name as text.')
  .transform((text) => text.normalize('NFC').trim())
  .refine((text) => text.length > 0, 'Give the role a name.')
  .refine((text) => [...text].length <= 64, 'A name can have at most 64 characters.')
  .refine((text) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text), 'A name cannot contain control characters.')
  .refine((text) => !looksLikeId.test(text), 'A name cannot have the form of an id.')
  .meta({ example: 'Bookkeeper' })

const description = z
  .string('Give the description as text.')
  .refine((text) => [...text].length <= 2000, 'A description can have at most 2000 characters.')

export const newRole = z.object({
  name: roleName,
  description: description.default(''),
  permissions: permissionList.prefault([]),
})

export const roleChange = z.object({
  name: roleName.optional(),
  description: description.optional(),
  permissions: permissionList.optional(),
})

export type RoleChange = z.output<typeof roleChange>

export const roleSchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    description: z.string(),
    permissions: z.array(z.string()),
    is_system: z.boolean(),
    managed_by: managedBy,
    managed_as: z.string().nullable().meta({ description: 'Its key in the manifest' }),
    member_count: z.int(),
    created_at: timestamp,
    updated_at: timestamp,
    warnings: warningsSchema,
  })
  .meta({ id: 'Role' })

/** The fields of a role that the audit log records. */
export const auditedRole = ({ name, description, permissions }: RoleDetailRow) => ({
  name,
  description,
  permissions,
})

export const showRole = ({ version: _version, name_key: _key, ...row }: RoleDetailRow) => ({
  ...row,
  permissions: row.is_system ? permissionsOf(row.name as SystemRole) : row.permissions,
  created_at: rfc3339(row.created_at),
  updated_at: rfc3339(row.updated_at),
})

/** A role as a resource in policies. */
export const roleResource = (role: RoleDetailRow) => ({ type: 'role', id: role.id, fields: showRole(role) })
