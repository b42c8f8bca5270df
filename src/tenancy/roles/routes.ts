import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { answerPage, pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { createRole } from './create-role.ts'
import { deleteRole } from './delete-role.ts'
import { newRole, roleChange, roleSchema, showRole } from './role-schemas.ts'
import { countRoles, findRole, listRoles, roleList } from './store.ts'
import { updateRole } from './update-role.ts'

function pageOfRoles(deps: Deps, actor: Actor, query: ListQuery) {
  const { tenantId } = actor
  const asked = { path: `/api/v1/tenants/${tenantId}/roles`, query }
  const load = (page: ListPage) =>
    inTenant(deps.db, actor, async (tx) => ({
      rows: await listRoles(tx, tenantId, page),
      count: await countRoles(tx, tenantId, page),
    }))
  return answerPage(deps, actor, roleList, asked, load, showRole)
}

async function readRole(deps: Deps, actor: Actor, roleId: string) {
  const role = await inTenant(deps.db, actor, (tx) => findRole(tx, actor.tenantId, roleId))
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
    handle: ({ actor, query }) => pageOfRoles(deps, actor, query),
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
    handle: async ({ actor, body }) => showRole(await createRole(deps, actor, body)),
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
    handle: ({ actor, params }) => readRole(deps, actor, pathId(params.rid)),
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
      handle: async ({ actor, params, body, ifMatch }) =>
        showRole(await updateRole(deps, actor, pathId(params.rid), body, ifMatch)),
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
    handle: async ({ actor, params, ifMatch }) => {
      await deleteRole(deps, actor, pathId(params.rid), ifMatch)
      return undefined
    },
  }),
]
