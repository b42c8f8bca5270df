import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { answerPage, pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { createDepartment } from './create-department.ts'
import { deleteDepartment } from './delete-department.ts'
import { departmentChange, departmentSchema, newDepartment, showDepartment } from './department-schemas.ts'
import { countListed, departmentList, findDepartment, listDepartments } from './store.ts'
import { updateDepartment } from './update-department.ts'

function pageOfDepartments(deps: Deps, actor: Actor, query: ListQuery) {
  const { tenantId } = actor
  const asked = { path: `/api/v1/tenants/${tenantId}/departments`, query }
  const load = (page: ListPage) =>
    inTenant(deps.db, actor, async (tx) => ({
      rows: await listDepartments(tx, tenantId, page),
      count: await countListed(tx, tenantId, page),
    }))
  return answerPage(deps, actor, departmentList, asked, load, showDepartment)
}

async function readDepartment(deps: Deps, actor: Actor, id: string) {
  const department = await inTenant(deps.db, actor, (tx) => findDepartment(tx, actor.tenantId, id))
  if (!department) throw notFound()
  return new Versioned(department.version, showDepartment(department))
}

export const departmentRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/tenants/:id/departments',
    action: 'department:list',
    scope: 'inside',
    tag: 'Departments',
    summary: 'List the departments of your tenant',
    query: departmentList.query,
    status: 200,
    answer: pageOf(departmentSchema),
    handle: ({ actor, query }) => pageOfDepartments(deps, actor, query),
  }),
  route({
    method: 'POST',
    path: '/api/v1/tenants/:id/departments',
    action: 'department:create',
    scope: 'inside',
    tag: 'Departments',
    summary: 'Create a department',
    body: newDepartment,
    status: 201,
    answer: departmentSchema,
    refusals: [409],
    handle: async ({ actor, body }) => showDepartment(await createDepartment(deps, actor, body)),
  }),
  route({
    method: 'GET',
    path: '/api/v1/tenants/:id/departments/:did',
    action: 'department:list',
    scope: 'inside',
    tag: 'Departments',
    summary: 'Read a department',
    status: 200,
    answer: departmentSchema,
    versioned: true,
    handle: ({ actor, params }) => readDepartment(deps, actor, pathId(params.did)),
  }),
  ...(['PUT', 'PATCH'] as const).map((method) =>
    route({
      method,
      path: '/api/v1/tenants/:id/departments/:did',
      action: 'department:update',
      scope: 'inside',
      decides: 'resource',
      tag: 'Departments',
      summary: 'Change or move a department',
      body: departmentChange,
      status: 200,
      answer: departmentSchema,
      versioned: true,
      handle: async ({ actor, params, body, ifMatch }) =>
        showDepartment(await updateDepartment(deps, actor, pathId(params.did), body, ifMatch)),
    }),
  ),
  route({
    method: 'DELETE',
    path: '/api/v1/tenants/:id/departments/:did',
    action: 'department:delete',
    scope: 'inside',
    decides: 'resource',
    tag: 'Departments',
    summary: 'Delete an empty department',
    status: 204,
    answer: null,
    refusals: [409],
    versioned: true,
    handle: async ({ actor, params, ifMatch }) => {
      await deleteDepartment(deps, actor, pathId(params.did), ifMatch)
      return undefined
    },
  }),
]
