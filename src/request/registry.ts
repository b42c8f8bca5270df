import { Router } from '@koa/router'
import type { Context, Middleware } from 'koa'
import { ApiError, notFound } from '../errors.ts'
import { pathFinder } from '../http/nearest-path.ts'
import { actions } from '../policy-engine/catalogue/actions.ts'
import type { Method, Route } from './route.ts'

/** The routes that need no token. Every other route must have an action. */
const withoutToken: ReadonlySet<string> = new Set([
  'POST /api/v1/auth/register',
  'POST /api/v1/auth/login',
  'POST /api/v1/auth/refresh',
  'POST /api/v1/auth/email/verify/confirm',
  'POST /api/v1/auth/email/verify/reject',
  'POST /api/v1/auth/email/undo',
  'POST /api/v1/auth/otp/undo',
  'POST /api/v1/auth/identities/undo',
  'POST /api/v1/auth/magic-link',
  'POST /api/v1/auth/magic-link/confirm',
  'POST /api/v1/auth/passkeys/login/options',
  'POST /api/v1/auth/passkeys/login',
  'POST /api/v1/keys/revoke',
  'POST /api/v1/invitations/accept',
  'POST /api/v1/invitations/accept/options',
  'POST /api/v1/tenants/leave',
  // Its token is that of an application.
  'GET /api/v1/application/events',
  'POST /api/v1/auth/password/reset',
  'POST /api/v1/auth/password/reset/confirm',
  'GET /.well-known/jwks.json',
  'GET /.well-known/authzen-configuration',
  'GET /healthz',
  'GET /readyz',
])

/**
 * Throws for a route that has no action of the catalogue and is not listed as public, and for a route that cannot
 * consume an approval although its action can require one.
 */
export function assertDecided(routes: readonly Route[]): void {
  for (const { method, path, access, action, kind } of routes) {
    const listed = withoutToken.has(`${method} ${path}`)
    const known =
      action === 'public' ? listed : Object.hasOwn(actions, action) && listed === (access === 'optional')
    if (!known)
      throw new Error(
        `${method} ${path} has the action ${action}, which is not in the catalogue, or not in the list of public routes`,
      )
    if (action !== 'public' && actions[action].gate && kind !== 'change')
      throw new Error(
        `${method} ${path} has the action ${action}, which can require an approval: change in act()`,
      )
  }
}

/** A handler of requests, at a path as @koa/router writes it. */
export interface Served {
  method: Method
  path: string
  handle: Middleware
}

/**
 * Serves requests; answers 404, 405 with Allow, or OPTIONS where there is no handler. A router tries one path after the
 * other, so the paths that begin alike have a router of their own. Throws for a path that has a parameter where it begins.
 */
export function dispatch(served: readonly Served[]): Middleware {
  const routers = new Map<string, Router>()
  for (const { method, path, handle } of served) {
    const key = [3, 2].map((count) => beginningOf(path, count)).find((one) => !one.includes(':'))
    if (key === undefined) throw new Error(`${path} has a parameter in its first two segments`)
    const router = routers.get(key) ?? new Router()
    router.register(path, [method], handle as never)
    routers.set(key, router)
  }
  const unknown = unknownPath(served.map(({ path }) => path))
  const serving = new Map([...routers].map(([key, router]) => [key, serveOrRefuse(router, unknown)]))
  return async (ctx, next) => {
    const serve = serving.get(beginningOf(ctx.path, 3)) ?? serving.get(beginningOf(ctx.path, 2))
    if (!serve) throw unknown(ctx.path)
    await serve(ctx, next)
  }
}

const ofApi = /^\/api\//i

/** Makes the 404 for an address that nothing serves, below `/api/` in other words than for an object that does not exist. */
function unknownPath(paths: readonly string[]): (path: string) => ApiError {
  const nearest = pathFinder(paths.filter((path) => ofApi.test(path)))
  return (path) => {
    if (!ofApi.test(path)) return notFound()
    const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path
    const meant = nearest(path)
    const hint = meant === null ? 'All addresses: GET /openapi.json.' : `The nearest is ${meant}.`
    const members = meant === null ? {} : { meant }
    return new ApiError(404, 'not_found', `This API has no address ${shown}. ${hint}`, { members })
  }
}

/** The first segments of a path. Routers ignore case, and a slash at the end. */
const beginningOf = (path: string, count: number): string =>
  path
    .toLowerCase()
    .split('/', count + 1)
    .filter(Boolean)
    .join('/')

function serveOrRefuse(router: Router, unknown: (path: string) => ApiError): Middleware {
  const serve = router.routes() as unknown as Middleware
  return (ctx) => serve(ctx, async () => refuse(router, ctx, unknown))
}

function refuse(router: Router, ctx: Context, unknown: (path: string) => ApiError): void {
  const allowed = new Set(
    router.stack.filter((layer) => layer.match(ctx.path)).flatMap((layer) => layer.methods),
  )
  if (allowed.size === 0) throw unknown(ctx.path)
  const allow = [...allowed, 'OPTIONS'].join(', ')
  if (ctx.method !== 'OPTIONS')
    throw new ApiError(405, 'method_not_allowed', `This address answers ${allow}.`, {
      headers: { Allow: allow },
    })
  ctx.set('Allow', allow)
  if (ctx.response.get('Access-Control-Allow-Origin')) ctx.set('Access-Control-Allow-Methods', allow)
  ctx.status = 204
}
