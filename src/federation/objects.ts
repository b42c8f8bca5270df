import type { ObjectFinders } from '../lists/find-object.ts'
import { lister, type ObjectListers } from '../lists/list-objects.ts'
import { connectionResource } from './connections/show-connection.ts'
import { connectionList, findConnection, listConnections } from './connections/store.ts'

/** Loads the objects of this context as resources for decisions. */
export const federationObjects: ObjectFinders = {
  async connection(read, { tenantId }, id) {
    const connection = await findConnection(read, { tenantId, id })
    return connection && connectionResource(connection)
  },
}

/** Lists the objects of this context, for searches. */
export const federationLists: ObjectListers = {
  connection: lister(
    connectionList,
    (tx, { tenantId }, page) => listConnections(tx, tenantId, page),
    connectionResource,
  ),
}
