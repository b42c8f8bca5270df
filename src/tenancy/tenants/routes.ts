import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { asSystem, inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { answerPage, pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { createTenant } from './create-tenant.ts'
import { deleteTenant, moveTenant } from './move-tenant.ts'
import { countTenantsOf, findTenant, listTenantsOf, tenantList } from './store.ts'
import { newTenant, showTenant, tenantChange, tenantSchema } from './tenant-schemas.ts'
import { updateTenant } from './update-tenant.ts'

function listTenants(deps: Deps, actor: Actor, query: ListQuery) {
  const asked = { path: '/api/v1/tenants', query }
  const load = (page: ListPage) =>
    asSystem(deps.db, 'the tenants of a person lie in many tenants', async (tx) => ({
      rows: await listTenantsOf(tx, actor.userId, page),
      count: await countTenantsOf(tx, actor.userId, page),
    }))
  return answerPage(deps, actor, tenantList, asked, load, showTenant)
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
    body: newTenant,
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
  ...(['PUT', 'PATCH'] as const).map((method) =>
    route({
      method,
      path: '/api/v1/tenants/:id',
      action: 'tenant:update',
      scope: 'path',
      decides: 'resource',
      tag: 'Tenants',
      summary: "Change a tenant's name and settings",
      description: 'Settings are merged key by key. The slug stays what it is.',
      body: tenantChange,
      status: 200,
      answer: tenantSchema,
      versioned: true,
      handle: async ({ actor, body, ifMatch }) => showTenant(await updateTenant(deps, actor, body, ifMatch)),
    }),
  ),
  route({
    method: 'DELETE',
    path: '/api/v1/tenants/:id',
    action: 'tenant:delete',
    scope: 'path',
    decides: 'resource',
    tag: 'Tenants',
    summary: 'Delete a tenant',
    description: 'Nobody sees it from then on; after 30 days everything of it is erased.',
    status: 204,
    answer: null,
    versioned: true,
    handle: async ({ actor, ifMatch }) => {
      await deleteTenant(deps, actor, ifMatch)
      return undefined
    },
  }),
  ...(['suspend', 'activate', 'archive'] as const).map((move) =>
    route({
      method: 'POST',
      path: `/api/v1/tenants/:id/${move}`,
      action: `tenant:${move}`,
      scope: 'path',
      decides: 'resource',
      tag: 'Tenants',
      summary: `${move[0]!.toUpperCase()}${move.slice(1)} a tenant`,
      description: moveTexts[move],
      status: 200,
      answer: tenantSchema,
      refusals: [409],
      handle: async ({ actor }) => showTenant(await moveTenant(deps, actor, move)),
    }),
  ),
]

const moveTexts = {
  suspend: 'Its tokens are refused and only owners enter it, until it is activated again.',
  activate: 'Opens a suspended or archived tenant again.',
  archive: 'As suspending, for good: it is activated again before anything else can be done with it.',
}
