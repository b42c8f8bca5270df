import { z } from 'zod'
import { written } from '../../request/body/known-members.ts'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import { permission } from '../../tenancy/roles/permissions.ts'
import { nameOf } from '../../tenancy/service-accounts/account-schemas.ts'
import { clientIdOf, readClientId } from '../clients/client-id.ts'
import type { ResourceFields, ResourceRow } from './store.ts'

const identifier = z
  .string('Give the identifier as text.')
  .max(2_000, 'An identifier can have at most 2,000 characters.')
  .refine(
    (text) => URL.canParse(text) && !/[^\x21-\x7e]|[#"\\]/.test(text),
    'Give an absolute URI without a fragment, in ASCII: it is the audience of the tokens.',
  )
  .meta({ example: 'https://api.example.com', maxLength: 2_000 })

const scopes = z
  .array(
    z.object({
      permission: permission.refine((text) => !text.endsWith(':*'), 'Name each permission: no wildcards.'),
      description: z
        .string('Give the description as text.')
        .trim()
        .max(200, 'A description can have at most 200 characters.')
        .default('')
        .meta({ description: 'What a person who consents reads', example: 'See your invoices' }),
    }),
    'Give scopes as a list.',
  )
  .max(100, 'A resource can have at most 100 scopes.')
  .refine(
    (list) => new Set(list.map((one) => one.permission)).size === list.length,
    'Name each permission once.',
  )

const clientIds = z
  .array(
    z
      .string('Give each client id as text.')
      .refine((text) => readClientId(text) !== null, 'Give the id of an application: bwa_…'),
    'Give client_ids as a list.',
  )
  .max(50, 'A resource can have at most 50 clients.')
  .transform((list) => [...new Set(list)])
  .meta({
    description: 'The applications that can introspect its tokens',
    override: { type: 'array', items: { type: 'string' }, maxItems: 50 },
  })

export const resourceChange = z
  .object({ identifier, name: nameOf('resource'), scopes, client_ids: clientIds })
  .partial()
export type ResourceChange = z.output<typeof resourceChange>

export const resourceSchema = z
  .object({
    id: z.uuid(),
    identifier: z.string(),
    name: z.string(),
    scopes: z.array(z.object({ permission: z.string(), description: z.string() })),
    client_ids: z.array(z.string()),
    created_by: z.uuid(),
    created_at: timestamp,
  })
  .meta({ id: 'OAuthResource' })

/** A resource as a manifest has it: `clients` are keys of its own. */
export const manifestResource = z.object({
  identifier,
  name: nameOf('resource'),
  scopes: scopes.default([]),
  clients: z.array(z.string('Give each client as text.'), 'Give clients as a list of keys.').default([]),
})

export const newResource = written(
  z.object({
    identifier,
    name: nameOf('resource'),
    scopes: scopes.default([]),
    client_ids: clientIds.default([]),
  }),
  { shownAs: resourceSchema },
)
export type NewResource = z.output<typeof newResource>

export const showResource = (row: ResourceRow) => ({
  id: row.id,
  ...auditedResource(row.tenant_id, row),
  created_by: row.created_by,
  created_at: rfc3339(row.created_at),
})

/** The fields of a resource that the audit log records. */
export const auditedResource = (
  tenantId: string,
  { identifier, name, scopes, client_ids }: ResourceFields,
) => ({ identifier, name, scopes, client_ids: client_ids.map((id) => clientIdOf({ tenantId, id })) })

/** A resource server as a resource in policies. It has no owner. */
export const asResource = (row: ResourceRow) => ({
  type: 'oauth_resource',
  id: row.id,
  fields: showResource(row),
})
