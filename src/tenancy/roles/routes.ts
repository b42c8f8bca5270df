import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { answerPage, pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { createRole } from './create-role.ts'
import { deleteRole } from './delete-role.ts'
import { newRole, roleChange, roleSchema, showRole } from './role-schemas.ts'
import { countRoles, findRole, listRoles, roleList } from './store.ts'
import { updateRole } from './update-role.ts'

function pageOfRoles(deps: Deps, caller: Caller, query: ListQuery) {
  const { tenantId } = caller
  const asked = { path: `/api/v1/tenants/${tenantId}/roles`, query }
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({
      rows: await listRoles(tx, tenantId, page),
      count: await countRoles(tx, tenantId, page),
    }))
  return answerPage(deps, caller, roleList, asked, load, showRole)
}

async function readRole(deps: Deps, caller: Caller, roleId: string) {
  const role = await inTenant(deps.db, caller, (tx) => findRole(tx, caller.tenantId, roleId))
  if (!role) throw notFound()
  return new Versioned(role.version, showRole(role))
}

export const roleRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/tenants/:id/roles',
    action: 'role:list',
    scope: 'inside',
    tag: 'Roles',
    summary: 'List the roles of your tenant',
    query: roleList.query,
    status: 200,
    answer: pageOf(roleSchema),
    handle: ({ caller, query }) => pageOfRoles(deps, caller, query),
  }),
  route({
    method: 'POST',
    path: '/api/v1/tenants/:id/roles',
    action: 'role:create',
    scope: 'inside',
    tag: 'Roles',
    summary: 'Create a role',
    description: 'Permissions are those of the service, or resource:verb of your own application.',
    body: newRole,
    status: 201,
    answer: roleSchema,
    refusals: [409],
    handle: async ({ caller, body }) => showRole(await createRole(deps, caller, body)),
  }),
  route({
    method: 'GET',
    path: '/api/v1/tenants/:id/roles/:rid',
    action: 'role:list',
    scope: 'inside',
    tag: 'Roles',
    summary: 'Read a role',
    status: 200,
    answer: roleSchema,
    versioned: true,
    handle: ({ caller, params }) => readRole(deps, caller, pathId(params.rid)),
  }),
  ...(['PUT', 'PATCH'] as const).map((method) =>
    route({
      method,
      path: '/api/v1/tenants/:id/roles/:rid',
      action: 'role:update',
      scope: 'inside',
      decides: 'resource',
      tag: 'Roles',
      summary: 'Change a role',
      description: 'Its members have what it permits from their next request on.',
      body: roleChange,
      status: 200,
      answer: roleSchema,
      refusals: [409],
      versioned: true,
      handle: async ({ caller, params, body, ifMatch }) =>
        showRole(await updateRole(deps, caller, pathId(params.rid), body, ifMatch)),
    }),
  ),
  route({
    method: 'DELETE',
    path: '/api/v1/tenants/:id/roles/:rid',
    action: 'role:delete',
    scope: 'inside',
    decides: 'resource',
    tag: 'Roles',
    summary: 'Delete a role that nobody has',
    status: 204,
    answer: null,
    refusals: [409],
    versioned: true,
    handle: async ({ caller, params, ifMatch }) => {
      await deleteRole(deps, caller, pathId(params.rid), ifMatch)
      return undefined
    },
  }),
]
