import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant, type Tx } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { Versioned } from '../../platform/http/etag.ts'
import { answerPage, pageOf } from '../../platform/http/lists.ts'
import { changeRoute, type Route, route, type Target } from '../../platform/http/route.ts'
import { lockTenant } from '../tenants/store.ts'
import { createDepartment } from './create-department.ts'
import { deleteDepartment } from './delete-department.ts'
import {
  departmentChange,
  departmentResource,
  departmentSchema,
  newDepartment,
  showDepartment,
} from './department-schemas.ts'
import {
  countListed,
  type DepartmentRow,
  departmentList,
  findDepartment,
  listDepartments,
  lockDepartment,
} from './store.ts'
import { updateDepartment } from './update-department.ts'

function pageOfDepartments(deps: Deps, caller: Caller, query: ListQuery) {
  const { tenantId } = caller
  const request = { path: `/api/v1/tenants/${tenantId}/departments`, query }
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({
      rows: await listDepartments(tx, tenantId, page),
      count: await countListed(tx, tenantId, page),
    }))
  return answerPage(deps, caller, departmentList, request, load, showDepartment)
}

async function readDepartment(deps: Deps, caller: Caller, id: string) {
  const department = await inTenant(deps.db, caller, (tx) => findDepartment(tx, caller.tenantId, id))
  if (!department) throw notFound()
  return new Versioned(department.version, showDepartment(department))
}

/**
 * Loads the department of the path and locks it: until the transaction ends no member can be assigned to it. The lock
 * on the tenant lets its departments change one at a time.
 */
async function lockedDepartment(tx: Tx, { caller, params }: Target): Promise<DepartmentRow | null> {
  const [tenantId, id] = [caller.tenantId, pathId(params.did)]
  await lockTenant(tx, tenantId)
  await lockDepartment(tx, tenantId, id)
  return findDepartment(tx, tenantId, id)
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
  changeRoute({
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
    act: async (tx, { caller, body }) => showDepartment(await createDepartment(tx, deps, caller, body)),
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
    changeRoute({
      method,
      path: '/api/v1/tenants/:id/departments/:did',
      action: 'department:update',
      scope: 'inside',
      tag: 'Departments',
      summary: 'Change or move a department',
      body: departmentChange,
      status: 200,
      answer: departmentSchema,
      versioned: true,
      load: lockedDepartment,
      resource: departmentResource,
      act: async (tx, input, department) =>
        showDepartment(await updateDepartment(tx, deps, input.caller, department, input)),
    }),
  ),
  changeRoute({
    method: 'DELETE',
    path: '/api/v1/tenants/:id/departments/:did',
    action: 'department:delete',
    scope: 'inside',
    tag: 'Departments',
    summary: 'Delete an empty department',
    status: 204,
    answer: null,
    refusals: [409],
    versioned: true,
    load: lockedDepartment,
    resource: departmentResource,
    act: (tx, { caller, ifMatch }, department) => deleteDepartment(tx, deps, caller, department, ifMatch),
  }),
]
