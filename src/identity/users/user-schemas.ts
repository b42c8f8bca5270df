import { z } from 'zod'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import { provenFields } from '../../request/route-resources.ts'
import type { MemberUserRow, UserRow } from './store.ts'

/** The User of the interface specification. */
const userSchema = z
  .object({
    id: z.uuid(),
    email: z.string(),
    first_name: z.string(),
    last_name: z.string(),
    is_active: z.boolean(),
    date_joined: timestamp,
  })
  .meta({ id: 'User' })

/** A user as their fellow members see them. */
export const memberUserSchema = userSchema
  .extend({
    email_verified: z.boolean(),
    membership_id: z.uuid(),
    roles: z.array(z.string()),
    department_id: z.uuid().nullable(),
  })
  .meta({ id: 'MemberUser' })

const tenantBrief = z.object({
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  status: z.enum(['active', 'suspended', 'archived']),
})

const usedKey = z
  .object({
    id: z.uuid(),
    scopes: z.array(z.string()).nullable(),
    application_only: z.boolean().meta({
      description:
        'Whether every scope is of an action of an application. Without scopes, or with one of this service, anyone who has the key can act here as its holder',
    }),
  })
  .meta({ description: 'The API key of this request' })

/** The caller's profile: the person, the current tenant, and all memberships. */
export const profileSchema = userSchema
  .extend({
    email_verified: z.boolean(),
    locale: z
      .string()
      .nullable()
      .meta({ description: 'Language of mails and pages (BCP 47); null: not known' }),
    zoneinfo: z.string().nullable().meta({ description: 'IANA time zone of times in mails; null: UTC' }),
    mfa_enabled: z.boolean(),
    current_tenant: tenantBrief,
    roles: z.array(z.string()),
    permissions: z.array(z.string()),
    impersonator: z
      .object({ id: z.uuid(), email: z.string() })
      .nullable()
      .meta({ description: 'Who acts as this person with this token' }),
    key: usedKey.nullable(),
    memberships: z.array(
      z.object({ tenant: tenantBrief, roles: z.array(z.string()), status: z.enum(['active', 'suspended']) }),
    ),
  })
  .meta({ id: 'Profile' })

/** What an application reads of the person that it acts for: the names with the scope `profile`, the address with `email`. */
export const grantedProfileSchema = userSchema
  .pick({ id: true, email: true, first_name: true, last_name: true })
  .partial({ email: true, first_name: true, last_name: true })
  .extend({
    email_verified: z.boolean().optional(),
    locale: z.string().nullable().optional(),
    zoneinfo: z.string().nullable().optional(),
    current_tenant: tenantBrief,
    roles: z.array(z.string()),
    scopes: z.array(z.string()).meta({ description: 'What the application may do now' }),
  })
  .meta({ id: 'GrantedProfile' })

/** What a service account reads of itself. */
export const accountProfileSchema = z
  .object({
    id: z.uuid(),
    type: z.literal('service_account'),
    name: z.string(),
    current_tenant: tenantBrief,
    roles: z.array(z.string()),
    permissions: z.array(z.string()),
    key: usedKey.nullable(),
  })
  .meta({ id: 'ServiceAccountProfile' })

export const toJsonUser = (row: Omit<UserRow, 'email_verified_at' | 'updated_at' | 'version'>) => ({
  id: row.id,
  email: row.email,
  first_name: row.first_name,
  last_name: row.last_name,
  is_active: row.is_active,
  date_joined: rfc3339(row.date_joined),
})

export const toJsonMemberUser = (row: MemberUserRow) => ({
  ...toJsonUser(row),
  email_verified: row.email_verified,
  membership_id: row.membership_id,
  roles: row.roles,
  department_id: row.department_id,
})

/** A person of the tenant, as policies see it. */
export const userResource = (user: MemberUserRow) => ({
  type: 'user',
  id: user.id,
  ownerId: user.id,
  fields: provenFields(toJsonMemberUser(user)),
})
