import type { ObjectFinders } from '../lists/find-object.ts'
import { lister, type ObjectListers } from '../lists/list-objects.ts'
import { readClientId } from './clients/client-id.ts'
import { clientResource } from './clients/client-schemas.ts'
import { clientList, findClient, listClients } from './clients/store.ts'
import { asResource } from './resources/resource-schemas.ts'
import { findResource, listResources, resourceList } from './resources/store.ts'

/** Loads the objects of this context as resources for decisions. */
export const oauthObjects: ObjectFinders = {
  async oauth_client(read, { tenantId }, id) {
    const key = readClientId(id)
    const client = key?.tenantId === tenantId ? await findClient(read, key) : null
    return client && clientResource(client)
  },
  async oauth_resource(read, { tenantId }, id) {
    const resource = await findResource(read, { tenantId, id })
    return resource && asResource(resource)
  },
}

/** Lists the objects of this context, for searches. */
export const oauthLists: ObjectListers = {
  oauth_client: lister(
    clientList,
    (tx, { tenantId }, page) => listClients(tx, tenantId, page),
    clientResource,
  ),
  oauth_resource: lister(
    resourceList,
    (tx, { tenantId }, page) => listResources(tx, tenantId, page),
    asResource,
  ),
}
