import { z } from 'zod'
import { isTimeZone } from '../../policy-engine/evaluate/local-time.ts'
import { written } from '../../request/body/known-members.ts'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import { brandingChange, brandingSchema, logoPath } from './branding.ts'
import { domainName } from './email-domains.ts'
import { ssoModes, subjectIds, type TenantRow, tenantStatus } from './store.ts'

export const tenantName = z
  .string('Give the name as text.')
  .trim()
  .min(1, 'Give the tenant a name.')
  .refine((text) => [...text].length <= 120, 'A name can have at most 120 characters.')
  .meta({ maxLength: 120, example: 'Analytical Engines' })

const slug = z
  .string('Give the slug as text.')
  .regex(
    /^[a-z0-9](-?[a-z0-9]){0,62}$/,
    'A slug has 1 to 63 characters of a-z and 0-9, with single dashes between them.',
  )
  .meta({ example: 'analytical-engines' })

const subjectIdMeaning =
  'By what searches name people: `email` is the verified address. A member without it is named by id'

const ssoMeaning =
  '`optional`: the pages that name the tenant offer its active connections. `required`: members sign in by one of them alone; only a session by a connection can set it'

const newTenantBody = z.object({ name: tenantName, slug: slug.optional() })

/** Settings are merged key by key, and so are the members of `branding`. */
export const tenantChange = z.object({
  name: tenantName.optional(),
  settings: z
    .object(
      {
        require_mfa: z.boolean('require_mfa must be true or false.').optional(),
        sso: z
          .enum(ssoModes, `sso is ${ssoModes.join(', ')}.`)
          .optional()
          .meta({ description: ssoMeaning }),
        time_zone: z
          .string('Give the time zone as text.')
          .max(64, 'A time zone has at most 64 characters.')
          .refine(isTimeZone, 'Give an IANA time zone, such as Europe/Berlin.')
          .optional(),
        allowed_email_domains: z
          .array(domainName, 'Give the domains as a list.')
          .max(100, 'A tenant can list at most 100 domains.')
          .transform((domains) => [...new Set(domains)])
          .optional(),
        subject_id: z
          .enum(subjectIds, `subject_id is ${subjectIds.join(', ')}.`)
          .optional()
          .meta({ description: subjectIdMeaning }),
        branding: brandingChange.optional(),
      },
      'Give the settings as an object.',
    )
    .optional(),
})

export type TenantChange = z.output<typeof tenantChange>

export const tenantSchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    slug: z.string(),
    status: tenantStatus,
    is_active: z.boolean(),
    settings: z.looseObject({
      require_mfa: z.boolean(),
      sso: z.enum(ssoModes).meta({ description: ssoMeaning }),
      time_zone: z.string().meta({
        description: 'IANA time zone of environment.hour and environment.weekday in policies',
      }),
      allowed_email_domains: z.array(z.string()),
      subject_id: z.enum(subjectIds).meta({ description: subjectIdMeaning }),
      branding: brandingSchema,
    }),
    created_at: timestamp,
    updated_at: timestamp,
    suspended_at: timestamp.nullable(),
    archived_at: timestamp.nullable(),
    member_count: z.int(),
    my_roles: z.array(z.string()),
  })
  .meta({ id: 'Tenant' })

/** Its settings begin with their defaults, and cannot be sent. */
export const newTenant = written(newTenantBody, {
  shownAs: tenantSchema.omit({ settings: true, status: true, is_active: true }),
})

/** The fields of a tenant that the audit log records. */
export const auditedTenant = ({ name, slug, status, settings }: TenantRow) => ({
  name,
  slug,
  status,
  settings,
})

/** A tenant in an answer. `publicUrl` begins the address of its logo; policies see its path. */
export const showTenant = ({ version: _version, name_key: _key, ...row }: TenantRow, publicUrl = '') => ({
  ...row,
  settings: shownSettings(row, publicUrl),
  is_active: row.status === 'active',
  created_at: rfc3339(row.created_at),
  updated_at: rfc3339(row.updated_at),
  suspended_at: row.suspended_at === null ? null : rfc3339(row.suspended_at),
  archived_at: row.archived_at === null ? null : rfc3339(row.archived_at),
})

function shownSettings(
  { id, settings: { logo, branding, ...settings } }: Pick<TenantRow, 'id' | 'settings'>,
  publicUrl: string,
) {
  return { ...settings, branding: { ...branding, logo: logo && `${publicUrl}${logoPath(id, logo.file)}` } }
}

/** A tenant as a resource in policies. */
export const tenantResource = (tenant: TenantRow) => ({
  type: 'tenant',
  id: tenant.id,
  fields: showTenant(tenant),
})
