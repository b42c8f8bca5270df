import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { asSystem, inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { answerPage, pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { rfc3339, timestamp } from '../../platform/http/schemas.ts'
import { createTenant } from './create-tenant.ts'
import {
  countTenantsOf,
  findTenant,
  listTenantsOf,
  type TenantRow,
  tenantList,
  tenantStatus,
} from './store.ts'

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

export const showTenant = ({ version: _version, name_key: _key, ...row }: TenantRow) => ({
  ...row,
  is_active: row.status === 'active',
  created_at: rfc3339(row.created_at),
  updated_at: rfc3339(row.updated_at),
  suspended_at: row.suspended_at === null ? null : rfc3339(row.suspended_at),
  archived_at: row.archived_at === null ? null : rfc3339(row.archived_at),
})

function listTenants(deps: Deps, { userId, tokenTenantId }: Actor, query: ListQuery) {
  const asked = { path: '/api/v1/tenants', tenantId: tokenTenantId, query }
  const load = (page: ListPage) =>
    asSystem(deps.db, 'the tenants of a person lie in many tenants', async (tx) => ({
      rows: await listTenantsOf(tx, userId, page),
      count: await countTenantsOf(tx, userId, page),
    }))
  return answerPage(deps, tenantList, asked, load, showTenant)
}

async function readTenant(deps: Deps, actor: Actor) {
  const tenant = await inTenant(deps.db, actor, (tx) => findTenant(tx, actor.tenantId, actor.userId))
  if (!tenant) throw notFound()
  return new Versioned(tenant.version, showTenant(tenant))
}

export const tenantRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/tenants',
    action: 'tenant:list',
    tag: 'Tenants',
    summary: 'List the tenants you belong to',
    query: tenantList.query,
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
    versioned: true,
    handle: ({ actor }) => readTenant(deps, actor),
  }),
]
