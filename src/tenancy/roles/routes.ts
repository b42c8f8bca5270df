import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf } from '../../lists/lists.ts'
import { Versioned } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route, type Target } from '../../request/route.ts'
import { createRole } from './create-role.ts'
import { deleteRole } from './delete-role.ts'
import { misspeltPermissions } from './misspelt-permissions.ts'
import { newRole, roleChange, roleResource, roleSchema, showRole } from './role-schemas.ts'
import { countRoles, findRole, listRoles, lockRole, type RoleDetailRow, roleList } from './store.ts'
import { updateRole } from './update-role.ts'

const roles = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/tenants/:id/roles',
    list: roleList,
    rows: (read, { caller: { tenantId } }, page) =>
      pageAndCount(listRoles(read, tenantId, page), countRoles(read, tenantId, page)),
    show: showRole,
  })

/** Loads the role of the path and locks it: until the transaction ends no other one grants, changes or deletes it. */
async function lockedRole(tx: Tx, { caller, params }: Target): Promise<RoleDetailRow | null> {
  const [tenantId, id] = [caller.tenantId, pathId(params.rid)]
  await lockTenant(tx, tenantId)
  await lockRole(tx, tenantId, id)
  return findRole(tx, tenantId, id)
}

/** A role as its author reads it after a change. */
const showWritten = async (tx: Tx, caller: Caller, role: RoleDetailRow) => ({
  ...showRole(role),
  warnings: await misspeltPermissions(tx, caller, {
    permissions: role.permissions,
    list: '/permissions',
    exceptRole: role.id,
  }),
})

export const roleRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'role:list',
    scope: 'inside',
    tag: 'Roles',
    summary: 'List the roles of your tenant',
    status: 200,
    answer: pageOf(roleSchema),
    ...roles(deps),
  }),
  route({
    method: 'POST',
    path: '/api/v1/tenants/:id/roles',
    action: 'role:create',
    scope: 'inside',
    tag: 'Roles',
    summary: 'Create a role',
    description: 'Permissions are those of the service, or `resource:verb` of your own application.',
    body: newRole,
    status: 201,
    answer: roleSchema,
    refusals: [409],
    act: async (tx, { caller, body }) => showWritten(tx, caller, await createRole(tx, deps, caller, body)),
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
    load: (read, { caller, params }) => findRole(read, caller.tenantId, pathId(params.rid)),
    handle: (_input, row) => new Versioned(row.version, showRole(row)),
  }),
  ...(['PUT', 'PATCH'] as const).map((method) =>
    route({
      method,
      path: '/api/v1/tenants/:id/roles/:rid',
      action: 'role:update',
      scope: 'inside',
      tag: 'Roles',
      summary: 'Change a role',
      description: 'Takes effect at the next request of its members.',
      body: roleChange,
      status: 200,
      answer: roleSchema,
      refusals: [409],
      versioned: true,
      load: lockedRole,
      resource: roleResource,
      act: async (tx, input, role) =>
        showWritten(tx, input.caller, await updateRole(tx, deps, input.caller, role, input)),
    }),
  ),
  route({
    method: 'DELETE',
    path: '/api/v1/tenants/:id/roles/:rid',
    action: 'role:delete',
    scope: 'inside',
    tag: 'Roles',
    summary: 'Delete an unused role',
    status: 204,
    answer: null,
    refusals: [409],
    versioned: true,
    load: lockedRole,
    resource: roleResource,
    act: (tx, { caller, ifMatch }, role) => deleteRole(tx, deps, caller, role, ifMatch),
  }),
]
