import { readAsSystem } from '../../database/executor/read.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../lists/list.ts'
import { answerPage, pageAndCount, pageOf } from '../../lists/lists.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { type Caller, confinedTo } from '../../request/caller.ts'
import { type Route, route, type Target } from '../../request/route.ts'
import { logoBody, logoBytes, logoOf } from './branding.ts'
import { changeLogo } from './change-logo.ts'
import { changeStatus, deleteTenant } from './change-status.ts'
import { createTenant } from './create-tenant.ts'
import { imageTypes } from './read-image.ts'
import { countTenantsOf, findTenant, listTenantsOf, type TenantRow, tenantList } from './store.ts'
import { newTenant, showTenant, tenantChange, tenantResource, tenantSchema } from './tenant-schemas.ts'
import { updateTenant } from './update-tenant.ts'

function listTenants(deps: Deps, caller: Caller, query: ListQuery) {
  const request = { path: '/api/v1/tenants', query }
  // A key and an impersonation act in their own tenant alone, and so does a session by a connection.
  const only = caller.token === 'access' ? confinedTo(caller) : caller.tenantId
  const of = { userId: caller.userId, only }
  const load = (page: ListPage) =>
    readAsSystem(deps.db, 'a person belongs to several tenants', (read) =>
      pageAndCount(listTenantsOf(read, of, page), countTenantsOf(read, of, page)),
    )
  return answerPage(deps, caller, tenantList, request, load, (row) => show(deps, row))
}

/** Loads the tenant of the path and locks it. */
async function lockedTenant(tx: Tx, { caller }: Target): Promise<TenantRow | null> {
  await lockTenant(tx, caller.tenantId)
  return findTenant(tx, caller.tenantId, caller.userId)
}

const show = ({ publicUrl }: Deps, row: TenantRow) => showTenant(row, publicUrl())

const logoFile = { as: 'logo', mediaTypes: imageTypes, maxBytes: logoBytes }

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
    prepare: async () => timeOrderedId(deps.clock()),
    into: (id) => id,
    act: async (tx, { caller, body }, _loaded, id) =>
      show(deps, await createTenant(tx, deps, caller, { ...body, id })),
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
    load: (read, { caller }) => findTenant(read, caller.tenantId, caller.userId),
    handle: (_input, row) => new Versioned(row.version, show(deps, row)),
  }),
  ...(['PUT', 'PATCH'] as const).map((method) =>
    route({
      method,
      path: '/api/v1/tenants/:id',
      action: 'tenant:update',
      scope: 'path',
      tag: 'Tenants',
      summary: "Change a tenant's name and settings",
      description:
        'Settings are merged key by key, and so is `branding`, where null takes a member away. The slug cannot change.',
      body: tenantChange,
      status: 200,
      answer: tenantSchema,
      versioned: true,
      load: lockedTenant,
      resource: tenantResource,
      act: async (tx, input, tenant) => show(deps, await updateTenant(tx, deps, input.caller, tenant, input)),
    }),
  ),
  route({
    method: 'PUT',
    path: '/api/v1/tenants/:id/branding/logo',
    action: 'tenant:update',
    scope: 'path',
    tag: 'Tenants',
    summary: "Change a tenant's logo",
    description:
      'The body is the image itself: a still PNG or WebP of at most 64 KiB and 1024 × 1024 pixels. It is public at the address that ' +
      '`settings.branding.logo` names.',
    file: logoFile,
    body: logoBody,
    shownBody: ({ logo }) => ({ logo: logoOf({ logo }).file }),
    status: 200,
    answer: tenantSchema,
    versioned: true,
    load: lockedTenant,
    resource: tenantResource,
    act: async (tx, input, tenant) => show(deps, await changeLogo(tx, deps, input.caller, tenant, input)),
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/tenants/:id/branding/logo',
    action: 'tenant:update',
    scope: 'path',
    tag: 'Tenants',
    summary: "Remove a tenant's logo",
    status: 204,
    answer: null,
    versioned: true,
    load: lockedTenant,
    resource: tenantResource,
    act: async (tx, { caller, ifMatch }, tenant) => {
      await changeLogo(tx, deps, caller, tenant, { body: null, ifMatch })
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/tenants/:id',
    action: 'tenant:delete',
    scope: 'path',
    tag: 'Tenants',
    summary: 'Delete a tenant',
    description:
      'The tenant disappears for all members at once. After 30 days, or after REFRESH_TOKEN_ABSOLUTE_VALIDITY if that is ' +
      'longer, all its data is erased.',
    status: 204,
    answer: null,
    versioned: true,
    load: lockedTenant,
    resource: tenantResource,
    act: (tx, { caller, ifMatch }, tenant) => deleteTenant(tx, deps, caller, tenant, ifMatch),
  }),
  ...(['suspend', 'activate', 'archive'] as const).map((verb) =>
    route({
      method: 'POST',
      path: `/api/v1/tenants/:id/${verb}`,
      action: `tenant:${verb}`,
      scope: 'path',
      tag: 'Tenants',
      summary: `${verb[0]!.toUpperCase()}${verb.slice(1)} a tenant`,
      description: statusTexts[verb],
      status: 200,
      answer: tenantSchema,
      refusals: [409],
      load: lockedTenant,
      resource: tenantResource,
      takesAway: () => verb !== 'activate',
      act: async (tx, { caller }, tenant) => show(deps, await changeStatus(tx, deps, caller, tenant, verb)),
    }),
  ),
]

const statusTexts = {
  suspend: 'Tokens for the tenant are refused and only owners can enter it, until it is activated again.',
  activate: 'Reopens a suspended or archived tenant.',
  archive: 'Like suspend, but permanent: activate the tenant before you do anything else with it.',
}
