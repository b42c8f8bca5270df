import type { Context, Middleware } from 'koa'
import type { Metrics } from '../metrics/metrics.ts'
import { textFormat } from '../metrics/metrics.ts'
import { operationId } from './operation-id.ts'
import type { Route } from './route.ts'

/** Counts each request and the time until its answer, under what its route is called; the first of all middleware. */
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

/** What a route is called in metrics: its action, or where nothing is decided what it does. */
export const measuredAs = (route: Route): string =>
  route.action === 'public' ? operationId(route) : route.action

/** `/metrics`, as a handler of GET. */
export const metricsPage = (metrics: Metrics) => async (ctx: Context) => {
  ctx.set('Cache-Control', 'no-store')
  ctx.type = textFormat
  ctx.body = await metrics.scrape()
}
