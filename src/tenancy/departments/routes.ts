import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { answerPage, pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { createDepartment } from './create-department.ts'
import { deleteDepartment } from './delete-department.ts'
import { departmentChange, departmentSchema, newDepartment, showDepartment } from './department-schemas.ts'
import { countListed, departmentList, findDepartment, listDepartments } from './store.ts'
import { updateDepartment } from './update-department.ts'

function pageOfDepartments(deps: Deps, caller: Caller, query: ListQuery) {
  const { tenantId } = caller
  const asked = { path: `/api/v1/tenants/${tenantId}/departments`, query }
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({
      rows: await listDepartments(tx, tenantId, page),
      count: await countListed(tx, tenantId, page),
    }))
  return answerPage(deps, caller, departmentList, asked, load, showDepartment)
}

async function readDepartment(deps: Deps, caller: Caller, id: string) {
  const department = await inTenant(deps.db, caller, (tx) => findDepartment(tx, caller.tenantId, id))
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
    handle: ({ caller, query }) => pageOfDepartments(deps, caller, query),
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
    handle: async ({ caller, body }) => showDepartment(await createDepartment(deps, caller, body)),
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
    handle: ({ caller, params }) => readDepartment(deps, caller, pathId(params.did)),
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
      handle: async ({ caller, params, body, ifMatch }) =>
        showDepartment(await updateDepartment(deps, caller, pathId(params.did), body, ifMatch)),
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
    handle: async ({ caller, params, ifMatch }) => {
      await deleteDepartment(deps, caller, pathId(params.did), ifMatch)
      return undefined
    },
  }),
]
