import { z } from 'zod'
import { readAsSystem } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Calls } from '../../pages/sign-in/calls.ts'
import type { Caller } from '../../request/caller.ts'
import { route } from '../../request/route.ts'
import { clientIdOf } from '../clients/client-id.ts'
import { revokeGrant } from './revoke-grant.ts'
import { ownOf } from './routes.ts'
import { listConnections, listGrantsFor, namesIn } from './store.ts'

// A person is connected to an application by each of their sign-ins to it: the API lists these, and the pages the applications.

/** An application that a person is connected to, in a tenant. */
export interface Connection {
  tenantId: string
  /** The row of the client. */
  clientId: string
  application: string
  tenant: string
  /** How many sign-ins live. */
  count: number
  /** Of the first of them, in ms since 1970. */
  since: number
}

const pageSize = 100
const reason = 'grants are of people, for applications of many tenants'
const path = '/api/v1/users/me/authorizations'
const ofPages = { path, tag: 'Applications', answer: null } as const

/** A page of a person's applications, and whether there are more. `number` counts from 1. */
async function pageOfConnections({ db, clock }: Deps, caller: Caller, number: number) {
  const range = { now: clock(), limit: pageSize + 1, offset: (number - 1) * pageSize }
  const rows = await readAsSystem(db, reason, (read) => listConnections(read, ownOf(caller), range))
  const shown = rows.slice(0, pageSize)
  if (shown.length === 0) return { connections: [], hasMore: false }
  const names = await readAsSystem(db, reason, (read) => namesIn(read, shown))
  const connections = shown.map(({ tenant_id: tenantId, client_id: id, count, since }): Connection => {
    const client = names.clients.find((one) => one.id === id)
    const tenant = names.tenants.find((one) => one.id === tenantId)
    const application = client?.name || clientIdOf({ tenantId, id })
    return { tenantId, clientId: id, application, tenant: tenant?.name ?? '', count, since }
  })
  return { connections, hasMore: rows.length > pageSize }
}

/** Ends all sign-ins of a person to an application. Those that have ended already, for example in another tab, are no fault. */
async function disconnect(
  deps: Deps,
  caller: Caller,
  key: { tenantId: string; clientId: string },
): Promise<void> {
  const own = ownOf(caller)
  const client = { tenantId: key.tenantId, id: key.clientId }
  const ids = await readAsSystem(deps.db, reason, (read) => listGrantsFor(read, own, client, deps.clock()))
  for (const id of ids)
    await revokeGrant(deps, caller, own, id).catch((error) => {
      if (!(error instanceof ApiError && error.status === 404)) throw error
    })
}

/** The calls of the page, decided as those of the API about one sign-in. */
export const connectionCalls = (deps: Deps, calls: Calls) => ({
  list: calls.of(
    route({
      ...ofPages,
      method: 'POST',
      action: 'oauth_grant:list_own',
      summary: 'List the applications of a person',
      body: z.object({ number: z.int().min(1) }),
      status: 200,
      handle: ({ caller, body }) => pageOfConnections(deps, caller, body.number) as never,
    }),
  ) as unknown as (...asked: Parameters<ReturnType<Calls['of']>>) => ReturnType<typeof pageOfConnections>,
  disconnect: calls.of(
    route({
      ...ofPages,
      method: 'DELETE',
      action: 'oauth_grant:revoke_own',
      summary: 'Disconnect an application',
      body: z.object({ tenantId: z.uuid(), clientId: z.uuid() }),
      status: 204,
      handle: ({ caller, body }) => disconnect(deps, caller, body) as never,
    }),
  ),
})
