import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { asSystem, inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { answerPage, pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { createTenant } from './create-tenant.ts'
import { deleteTenant, moveTenant } from './move-tenant.ts'
import { countTenantsOf, findTenant, listTenantsOf, tenantList } from './store.ts'
import { newTenant, showTenant, tenantChange, tenantSchema } from './tenant-schemas.ts'
import { updateTenant } from './update-tenant.ts'

function listTenants(deps: Deps, caller: Caller, query: ListQuery) {
  const asked = { path: '/api/v1/tenants', query }
  const load = (page: ListPage) =>
    asSystem(deps.db, 'the tenants of a person lie in many tenants', async (tx) => ({
      rows: await listTenantsOf(tx, caller.userId, page),
      count: await countTenantsOf(tx, caller.userId, page),
    }))
  return answerPage(deps, caller, tenantList, asked, load, showTenant)
}

async function readTenant(deps: Deps, caller: Caller) {
  const tenant = await inTenant(deps.db, caller, (tx) => findTenant(tx, caller.tenantId, caller.userId))
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
    handle: ({ caller, query }) => listTenants(deps, caller, query),
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
    handle: async ({ caller, body }) => showTenant(await createTenant(deps, caller, body)),
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
    handle: ({ caller }) => readTenant(deps, caller),
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
      handle: async ({ caller, body, ifMatch }) =>
        showTenant(await updateTenant(deps, caller, body, ifMatch)),
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
    handle: async ({ caller, ifMatch }) => {
      await deleteTenant(deps, caller, ifMatch)
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
      handle: async ({ caller }) => showTenant(await moveTenant(deps, caller, move)),
    }),
  ),
]

const moveTexts = {
  suspend: 'Its tokens are refused and only owners enter it, until it is activated again.',
  activate: 'Opens a suspended or archived tenant again.',
  archive: 'As suspending, for good: it is activated again before anything else can be done with it.',
}
