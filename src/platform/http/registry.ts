import type { Router } from '@koa/router'
import type { Middleware } from 'koa'
import { actions } from '../../policy-engine/catalogue/actions.ts'
import { ApiError, notFound } from '../errors.ts'
import type { Route } from './route.ts'

/** The routes that need no token. A route is here or has an action; this list grows only on purpose. */
const open: ReadonlySet<string> = new Set([
  'POST /api/v1/auth/register',
  'POST /api/v1/auth/login',
  'POST /api/v1/auth/refresh',
  'POST /api/v1/auth/email/verify/confirm',
  'POST /api/v1/auth/email/verify/reject',
  'POST /api/v1/auth/email/undo',
  'POST /api/v1/auth/otp/undo',
  'POST /api/v1/invitations/accept',
  'POST /api/v1/tenants/leave',
  'POST /api/v1/auth/password/reset',
  'POST /api/v1/auth/password/reset/confirm',
  'GET /.well-known/jwks.json',
  'GET /.well-known/authzen-configuration',
  'GET /healthz',
  'GET /readyz',
])

/**
 * Throws for a route that is neither decided by an action of the catalogue nor listed as public, and for one whose
 * action a policy may gate although its route cannot consume an approval.
 */
export function assertDecided(routes: readonly Route[]): void {
  for (const { method, path, action, anonymous, kind } of routes) {
    const listed = open.has(`${method} ${path}`)
    const known =
      action === 'public' ? listed : Object.hasOwn(actions, action) && listed === Boolean(anonymous)
    if (!known) throw new Error(`${method} ${path} has the action ${action}, which nothing decides`)
    if (action !== 'public' && actions[action].gate && kind !== 'change')
      throw new Error(
        `${method} ${path} has the action ${action}, which needs a changeRoute: a policy may gate it`,
      )
  }
}

/** Serves what the router matches; else 404, 405 with Allow, or the public answer to OPTIONS. */
export function dispatch(router: Router): Middleware[] {
  const refuse: Middleware = async (ctx) => {
    const allowed = new Set(
      router.stack.filter((layer) => layer.match(ctx.path)).flatMap((layer) => layer.methods),
    )
    if (allowed.size === 0) throw notFound()
    const allow = [...allowed, 'OPTIONS'].join(', ')
    if (ctx.method !== 'OPTIONS')
      throw new ApiError(405, 'method_not_allowed', `This address answers ${allow}.`, {
        headers: { Allow: allow },
      })
    ctx.set('Allow', allow)
    if (ctx.response.get('Access-Control-Allow-Origin')) ctx.set('Access-Control-Allow-Methods', allow)
    ctx.status = 204
  }
  return [router.routes() as unknown as Middleware, refuse]
}
