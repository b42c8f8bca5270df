import type { Deps } from '../../deps.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import { pageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { endOwnSession } from './end-session.ts'
import { listSessions, sessionSchema } from './list-sessions.ts'
import { sessionList } from './store.ts'

export const sessionRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/auth/sessions',
    action: 'session:list',
    tag: 'Sign-in',
    summary: 'List your sessions',
    query: sessionList.query,
    status: 200,
    answer: pageOf(sessionSchema),
    handle: ({ caller, query }) => listSessions(deps, caller, query),
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/auth/sessions/:id',
    action: 'session:delete',
    tag: 'Sign-in',
    summary: 'End one of your sessions',
    status: 204,
    answer: null,
    handle: ({ caller, params }) => endOwnSession(deps, caller, pathId(params.id)),
  }),
]
