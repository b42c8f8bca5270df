import type { Context, Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { answerErrors } from '../http/problem.ts'
import { assertDecided, dispatch } from '../request/registry.ts'
import type { PathDeps } from '../request/request-context.ts'
import { requestPath } from '../request/request-path.ts'
import type { VerifyDeps } from '../request/verify-token.ts'
import { directoryKeys } from './directory-keys.ts'
import { answerScimError } from './scim-error.ts'
import { scimRoutes } from './scim-routes.ts'

/** Serves `/scim/v2/` by the request path of the API, and writes what HTTP has as RFC 7644 wants it. */
export function serveScim(deps: Deps & PathDeps & VerifyDeps): Middleware {
  const routes = scimRoutes(deps)
  assertDecided(routes)
  const keys = directoryKeys(deps)
  const serve = dispatch(
    routes.map((route) => ({
      method: route.method,
      path: route.path,
      handle: requestPath(deps, route, keys),
    })),
  )
  const orError = answerErrors(deps.log, answerScimError)
  return async (http, next) => {
    readAsJson(http)
    await orError(http, () => serve(http, next))
    writeAsScim(http)
    deps.directoryLog.note(http)
  }
}

/** The body is JSON, and a tag means the same with `W/` in front of it. */
function readAsJson({ req: { headers } }: Context): void {
  const type = headers['content-type']
  if (type !== undefined)
    headers['content-type'] = type.replace(/^\s*application\/scim\+json\b/i, 'application/json')
  const tags = headers['if-match']
  if (tags !== undefined) headers['if-match'] = tags.replaceAll('W/"', '"')
}

function writeAsScim(http: Context): void {
  const tag = http.response.get('ETag')
  if (tag?.startsWith('"')) http.set('ETag', `W/${tag}`)
  if (typeof http.body !== 'string') return
  http.type = 'application/scim+json; charset=utf-8'
  const location = http.status === 201 ? JSON.parse(http.body).meta?.location : undefined
  if (location) http.set('Location', location)
}
