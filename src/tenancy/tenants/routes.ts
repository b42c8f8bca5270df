import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { asSystem, inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { closePage, type ListContext, listQuery, openPage, pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { rfc3339, timestamp } from '../../platform/http/schemas.ts'
import { createTenant } from './create-tenant.ts'
import { countTenantsOf, findTenant, listTenantsOf, type TenantRow, tenantStatus } from './store.ts'

export const tenantName = z
  .string('Give the name as text.')
  .trim()
  .min(1, 'Give the tenant a name.')
  .max(120, 'A name may have 120 characters at most.')
  .meta({ example: 'Analytical Engines' })

const slug = z
  .string('Give the slug as text.')
  .regex(/^[a-z0-9](-?[a-z0-9]){0,62}$/, 'A slug has 1 to 63 of a-z, 0-9 and single dashes between them.')
  .meta({ example: 'analytical-engines' })

export const tenantSchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    slug: z.string(),
    status: tenantStatus,
    is_active: z.boolean(),
    settings: z.looseObject({ require_mfa: z.boolean(), allowed_email_domains: z.array(z.string()) }),
    created_at: timestamp,
    updated_at: timestamp,
    suspended_at: timestamp.nullable(),
    archived_at: timestamp.nullable(),
    member_count: z.int(),
    my_roles: z.array(z.string()),
  })
  .meta({ id: 'Tenant' })

export const showTenant = (row: TenantRow) => ({
  ...row,
  is_active: row.status === 'active',
  created_at: rfc3339(row.created_at),
  updated_at: rfc3339(row.updated_at),
  suspended_at: row.suspended_at === null ? null : rfc3339(row.suspended_at),
  archived_at: row.archived_at === null ? null : rfc3339(row.archived_at),
})

async function listTenants(deps: Deps, { userId, tokenTenantId }: Actor, query: z.output<typeof listQuery>) {
  const list: ListContext = {
    sealer: deps.sealer,
    publicUrl: deps.publicUrl(),
    path: '/api/v1/tenants',
    tenantId: tokenTenantId,
    query,
  }
  const page = openPage(list)
  const [rows, count] = await asSystem(deps.db, 'the tenants of a person lie in many tenants', async (tx) => [
    await listTenantsOf(tx, userId, page),
    await countTenantsOf(tx, userId),
  ])
  return closePage(list, page, rows, count, (row) => ({ at: row.created_at, id: row.id }), showTenant)
}

async function readTenant(deps: Deps, actor: Actor) {
  const tenant = await inTenant(deps.db, actor, (tx) => findTenant(tx, actor.tenantId, actor.userId))
  if (!tenant) throw notFound()
  return showTenant(tenant)
}

export const tenantRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/tenants',
    action: 'tenant:list',
    tag: 'Tenants',
    summary: 'List the tenants you belong to',
    query: listQuery,
    status: 200,
    answer: pageOf(tenantSchema),
    handle: ({ actor, query }) => listTenants(deps, actor, query),
  }),
  route({
    method: 'POST',
    path: '/api/v1/tenants',
    action: 'tenant:create',
    tag: 'Tenants',
    summary: 'Create a tenant and become its owner',
    body: z.object({ name: tenantName, slug: slug.optional() }),
    status: 201,
    answer: tenantSchema,
    refusals: [409],
    handle: async ({ actor, body }) => showTenant(await createTenant(deps, actor, body)),
  }),
  route({
    method: 'GET',
    path: '/api/v1/tenants/:id',
    action: 'tenant:read',
    scope: 'path',
    tag: 'Tenants',
    summary: 'Read a tenant you belong to',
    status: 200,
    answer: tenantSchema,
    handle: ({ actor }) => readTenant(deps, actor),
  }),
]
