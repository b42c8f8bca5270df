import type { Context, Middleware } from 'koa'
import type { Metrics } from '../observe/metrics/metrics.ts'
import { textFormat } from '../observe/metrics/metrics.ts'
import { operationId } from './operation-id.ts'
import type { Route } from './route.ts'

/** Counts each request and its duration by the name of its route. Must be the first middleware. */
export function measureRequests(metrics: Metrics): Middleware {
  return async (ctx, next) => {
    const begun = performance.now()
    metrics.requestBegan()
    let status = 500
    try {
      await next()
      status = ctx.status
    } finally {
      metrics.requestEnded(ctx.state.measuredAs ?? 'none', status, (performance.now() - begun) / 1_000)
    }
  }
}

/** The name of a route in metrics: its action, or its operation id when it is public. */
export const measuredAs = (route: Route): string =>
  route.action === 'public' ? operationId(route) : route.action

/** The GET handler of `/metrics`. */
export const metricsPage = (metrics: Metrics) => async (ctx: Context) => {
  ctx.set('Cache-Control', 'no-store')
  ctx.type = textFormat
  ctx.body = await metrics.scrape()
}
