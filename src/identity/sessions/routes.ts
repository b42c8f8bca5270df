import type { Deps } from '../../deps.ts'
import { pageOf } from '../../lists/lists.ts'
import { pathId } from '../../request/path-id.ts'
import { type Route, route } from '../../request/route.ts'
import { endOwnSession } from './end-session.ts'
import { sessionSchema, sessions } from './list-sessions.ts'

export const sessionRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'session:list',
    tag: 'Sign-in',
    summary: 'List your sessions',
    status: 200,
    answer: pageOf(sessionSchema),
    ...sessions(deps),
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
