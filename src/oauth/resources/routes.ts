import type { Read } from '../../database/executor/read.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount, pageOf } from '../../lists/lists.ts'
import { Versioned } from '../../request/answer/etag.ts'
import { pathId } from '../../request/path-id.ts'
import { type LoadTarget, type Route, route, type Target } from '../../request/route.ts'
import { createResource } from './create-resource.ts'
import { removeResource } from './delete-resource.ts'
import { asResource, newResource, resourceChange, resourceSchema, showResource } from './resource-schemas.ts'
import { countResources, findResource, listResources, lockResource, resourceList } from './store.ts'
import { updateResource } from './update-resource.ts'

const tag = 'Applications'
const all = '/api/v1/oauth-resources'
const one = `${all}/:id`

const resources = (deps: Deps) =>
  listing(deps, {
    path: all,
    list: resourceList,
    rows: (read, { caller: { tenantId } }, page) =>
      pageAndCount(listResources(read, tenantId, page), countResources(read, tenantId, page)),
    show: showResource,
  })

const keyOf = ({ caller, params }: LoadTarget | Target) => ({
  tenantId: caller.tenantId,
  id: pathId(params.id),
})
const lockedResource = (tx: Tx, target: Target) => lockResource(tx, keyOf(target))

export const oauthResourceRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'oauth_resource:list',
    readAction: 'oauth_resource:read',
    tag,
    summary: 'List the APIs of your applications that access tokens are for',
    status: 200,
    answer: pageOf(resourceSchema),
    ...resources(deps),
  }),
  route({
    method: 'POST',
    path: all,
    action: 'oauth_resource:create',
    tag,
    summary: 'Register an API of your application as the audience of access tokens',
    description:
      'Applications ask for its tokens with `resource=<identifier>` (RFC 8707), and for the permissions among its `scopes`. People who consent read the descriptions. The applications in `client_ids` can introspect its tokens.',
    body: newResource,
    status: 201,
    answer: resourceSchema,
    refusals: [409],
    act: async (tx, { caller, body }) => showResource(await createResource(tx, deps, caller, body)),
  }),
  route({
    method: 'GET',
    path: one,
    action: 'oauth_resource:read',
    tag,
    summary: 'Read an API that access tokens are for',
    status: 200,
    answer: resourceSchema,
    versioned: true,
    load: (read: Read, target: LoadTarget) => findResource(read, keyOf(target)),
    resource: asResource,
    handle: (_input, row) => new Versioned(row.version, showResource(row)),
  }),
  route({
    method: 'PATCH',
    path: one,
    action: 'oauth_resource:update',
    tag,
    summary: 'Change an API that access tokens are for',
    description:
      'Lists replace the previous ones. A scope that you take away is in no token from the next one on.',
    body: resourceChange,
    status: 200,
    answer: resourceSchema,
    refusals: [409],
    versioned: true,
    load: lockedResource,
    resource: asResource,
    act: async (tx, input, row) => showResource(await updateResource(tx, deps, input.caller, row, input)),
  }),
  route({
    method: 'DELETE',
    path: one,
    action: 'oauth_resource:delete',
    tag,
    summary: 'Delete an API that access tokens are for',
    description: 'No new tokens name it, and no application can introspect those that do.',
    status: 204,
    answer: null,
    versioned: true,
    load: lockedResource,
    resource: asResource,
    act: (tx, { caller, ifMatch }, row) => removeResource(tx, deps, caller, row, ifMatch),
  }),
]
