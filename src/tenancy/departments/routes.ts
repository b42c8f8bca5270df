import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import { closePage, type ListContext, listQuery, openPage, pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { createDepartment } from './create-department.ts'
import { deleteDepartment } from './delete-department.ts'
import { departmentChange, departmentSchema, newDepartment, showDepartment } from './department-schemas.ts'
import { countDepartments, findDepartment, listDepartments } from './store.ts'
import { updateDepartment } from './update-department.ts'

async function pageOfDepartments(deps: Deps, actor: Actor, query: z.output<typeof listQuery>) {
  const { tenantId } = actor
  const path = `/api/v1/tenants/${tenantId}/departments`
  const list: ListContext = { sealer: deps.sealer, publicUrl: deps.publicUrl(), path, tenantId, query }
  const page = openPage(list)
  const [rows, count] = await inTenant(deps.db, actor, async (tx) => [
    await listDepartments(tx, tenantId, page),
    await countDepartments(tx, tenantId),
  ])
  return closePage(list, page, rows, count, (row) => ({ at: row.created_at, id: row.id }), showDepartment)
}

async function readDepartment(deps: Deps, actor: Actor, id: string) {
  const department = await inTenant(deps.db, actor, (tx) => findDepartment(tx, actor.tenantId, id))
  if (!department) throw notFound()
  return showDepartment(department)
}

export const departmentRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/tenants/:id/departments',
    action: 'department:list',
    scope: 'inside',
    tag: 'Departments',
    summary: 'List the departments of your tenant',
    query: listQuery,
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
    handle: ({ actor, params }) => readDepartment(deps, actor, pathId(params.did)),
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
      handle: async ({ actor, params, body }) =>
        showDepartment(await updateDepartment(deps, actor, pathId(params.did), body)),
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
    handle: async ({ actor, params }) => {
      await deleteDepartment(deps, actor, pathId(params.did))
      return undefined
    },
  }),
]
