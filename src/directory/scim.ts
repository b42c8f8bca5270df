import type { Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import type { PathDeps } from '../request/request-context.ts'
import type { VerifyDeps } from '../request/verify-token.ts'

/** SCIM 2.0 below `/scim/`. Most processes serve no directory: what does is loaded with the first request. */
export function scim(deps: Deps & PathDeps & VerifyDeps): Middleware {
  let serve: Middleware | undefined
  return async (http, next) => {
    if (!/^\/scim(\/|$)/i.test(http.path)) return next()
    serve ??= (await import('./serve-scim.ts')).serveScim(deps)
    await serve(http, next)
  }
}
