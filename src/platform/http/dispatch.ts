import type { Router } from '@koa/router'
import type { Middleware } from 'koa'
import { ApiError, notFound } from '../errors.ts'

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
