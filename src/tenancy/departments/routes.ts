import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf } from '../../lists/lists.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route, type Target } from '../../request/route.ts'
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

const departments = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/tenants/:id/departments',
    list: departmentList,
    rows: (read, { caller: { tenantId } }, page) =>
      pageAndCount(listDepartments(read, tenantId, page), countListed(read, tenantId, page)),
    show: showDepartment,
  })

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
    action: 'department:list',
    scope: 'inside',
    tag: 'Departments',
    summary: 'List the departments of your tenant',
    status: 200,
    answer: pageOf(departmentSchema),
    ...departments(deps),
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
    load: (read, { caller, params }) => findDepartment(read, caller.tenantId, pathId(params.did)),
    handle: (_input, row) => new Versioned(row.version, showDepartment(row)),
  }),
  ...(['PUT', 'PATCH'] as const).map((method) =>
    route({
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
  route({
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
