import { type Read, readAsSystem } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { List, ListPage, ListQuery } from '../../lists/list.ts'
import { answerPage, pageAndCount, pageOf } from '../../lists/lists.ts'
import { type Caller, confinedTo } from '../../request/caller.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route } from '../../request/route.ts'
import {
  authorizationSchema,
  grantSchema,
  type NamedGrant,
  showAuthorization,
  showGrant,
} from './grant-schemas.ts'
import { revokeGrant } from './revoke-grant.ts'
import { countGrants, grantList, listGrants, namesIn, type Own, ownGrantList, type Whose } from './store.ts'

const tag = 'Applications'
const own = '/api/v1/users/me/authorizations'
const all = '/api/v1/oauth-grants'

interface Asked {
  caller: Caller
  path: string
  list: List
  query: ListQuery
  whose: Whose
}

function pageOfGrants<T>(
  deps: Deps,
  { caller, path, list, query, whose }: Asked,
  show: (row: NamedGrant) => T,
) {
  const read = <R>(work: (read: Read) => Promise<R>) =>
    readAsSystem(deps.db, 'grants are of people, for applications of many tenants', work)
  const load = async (page: ListPage) => {
    const now = deps.clock()
    const { rows, count } = await read((one) =>
      pageAndCount(listGrants(one, whose, page, now), countGrants(one, whose, page, now)),
    )
    if (rows.length === 0) return { rows: [], count }
    const names = await read((one) => namesIn(one, rows))
    return { rows: rows.map((row) => ({ ...row, names })), count }
  }
  return answerPage(deps, caller, list, { path, query }, load, show)
}

/** The grants that the caller may see and end: in a session by a connection those in its tenant. */
export const ownOf = (caller: Caller): Own => ({ userId: caller.userId, only: confinedTo(caller) })

export const grantRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: own,
    action: 'oauth_grant:list_own',
    tag,
    summary: 'List the applications that you are connected to',
    description: 'Each sign-in to an application is one entry, until its session ends.',
    query: ownGrantList.query,
    status: 200,
    answer: pageOf(authorizationSchema),
    handle: ({ caller, query }) =>
      pageOfGrants(
        deps,
        { caller, path: own, list: ownGrantList, query, whose: ownOf(caller) },
        showAuthorization,
      ),
  }),
  route({
    method: 'DELETE',
    path: `${own}/:id`,
    action: 'oauth_grant:revoke_own',
    tag,
    summary: 'Disconnect an application',
    description: 'Its tokens are refused from the next request on, and it asks for your consent again.',
    status: 204,
    answer: null,
    handle: ({ caller, params }) => revokeGrant(deps, caller, ownOf(caller), pathId(params.id)),
  }),
  route({
    method: 'GET',
    path: all,
    action: 'oauth_grant:list',
    tag,
    summary: 'List what people let the applications of your tenant do',
    query: grantList.query,
    status: 200,
    answer: pageOf(grantSchema),
    handle: ({ caller, query }) =>
      pageOfGrants(
        deps,
        { caller, path: all, list: grantList, query, whose: { tenantId: caller.tenantId } },
        showGrant,
      ),
  }),
  route({
    method: 'DELETE',
    path: `${all}/:id`,
    action: 'oauth_grant:revoke',
    tag,
    summary: 'Disconnect a person from an application of your tenant',
    description: 'The tokens are refused from the next request on. The person can sign in to it again.',
    status: 204,
    answer: null,
    handle: ({ caller, params }) =>
      revokeGrant(deps, caller, { tenantId: caller.tenantId }, pathId(params.id)),
  }),
]
