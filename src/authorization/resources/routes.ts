import type { Read } from '../../database/executor/read.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf } from '../../lists/lists.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { type LoadTarget, type Route, route, type Target } from '../../request/route.ts'
import {
  deleteResults,
  itemsOf,
  maxBulkBody,
  putResults,
  resourcesToDelete,
  resourcesToPut,
} from './bulk-items.ts'
import { putResource, removeResource } from './put-resource.ts'
import { newResource, putResources, removeResources } from './put-resources.ts'
import {
  newName,
  pathName,
  registrationResource,
  resourceBody,
  resourceSchema,
  showResource,
} from './resource-schemas.ts'
import {
  countResources,
  findResource,
  listResources,
  lockResourceName,
  type ResourceName,
  resourceList,
} from './store.ts'

const tag = 'Resources'
const one = '/api/v1/resources/:resource_type/:resource_id'

const resources = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/resources',
    list: resourceList,
    rows: (read, { caller: { tenantId } }, page) =>
      pageAndCount(listResources(read, tenantId, page), countResources(read, tenantId, page)),
    show: showResource,
  })

const found = (read: Read, { caller, params }: LoadTarget) =>
  findResource(read, caller.tenantId, pathName(params))

async function locked(tx: Tx, { caller: { tenantId } }: Target, name: ResourceName) {
  await lockResourceName(tx, tenantId, name)
  return { name, current: await findResource(tx, tenantId, name) }
}

export const resourceRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'registered_resource:list',
    tag,
    summary: 'List the registered resources of your applications',
    status: 200,
    answer: pageOf(resourceSchema),
    ...resources(deps),
  }),
  route({
    method: 'PUT',
    path: '/api/v1/resources',
    action: 'registered_resource:update',
    tag,
    summary: 'Register or replace many resources of your application',
    description:
      'At most 1,000 in a body of 4 MiB, in one transaction. Each is decided, audited and told by an event as a PUT of its own. One that cannot be registered is `invalid` and leaves the others alone.',
    body: resourcesToPut,
    maxBody: maxBulkBody.put,
    status: 200,
    answer: putResults,
    items: ({ body }, pace) => itemsOf('put', body, pace),
    changeAll: (tx, { caller }, items, decisions) => putResources(tx, deps, caller, items, decisions),
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/resources',
    action: 'registered_resource:delete',
    tag,
    summary: 'Delete many registered resources',
    description: 'At most 1,000, in one transaction. Each is decided, audited and told by an event.',
    body: resourcesToDelete,
    maxBody: maxBulkBody.delete,
    status: 200,
    answer: deleteResults,
    items: ({ body }, pace) => itemsOf('delete', body, pace),
    changeAll: (tx, { caller }, items, decisions) => removeResources(tx, deps, caller, items, decisions),
  }),
  route({
    method: 'GET',
    path: one,
    action: 'registered_resource:list',
    tag,
    summary: 'Read a registered resource',
    status: 200,
    answer: resourceSchema,
    versioned: true,
    load: found,
    resource: registrationResource,
    handle: (_input, row) => new Versioned(row.version, showResource(row)),
  }),
  route({
    method: 'PUT',
    path: one,
    action: 'registered_resource:update',
    tag,
    summary: 'Register a resource of your application, or replace it',
    description:
      'Evaluations and searches that name the resource by type and id read these values. `resource.<key>` of a question counts beside them only for attributes that are defined with `source: "caller"`.',
    body: resourceBody,
    status: 200,
    creates: true,
    answer: resourceSchema,
    refusals: [409],
    versioned: true,
    load: (tx, target) => locked(tx, target, newName(target.params)),
    resource: ({ current, name }, { body }) =>
      current ? registrationResource(current) : newResource(name, body),
    act: async (tx, { caller, body, ifMatch: versions }, { name, current }) => {
      const row = await putResource(tx, deps, caller, { name, current, body, versions })
      return new Versioned(row.version, showResource(row), current === null)
    },
  }),
  route({
    method: 'DELETE',
    path: one,
    action: 'registered_resource:delete',
    tag,
    summary: 'Delete a registered resource',
    status: 204,
    answer: null,
    versioned: true,
    load: async (tx, target) => (await locked(tx, target, pathName(target.params))).current,
    resource: registrationResource,
    act: (tx, { caller, ifMatch }, row) => removeResource(tx, deps, caller, row, ifMatch),
  }),
]
