import type { Caller } from '@bailiwick/client'
import { koaGuard, koaSignIn } from '@bailiwick/client/koa'
import { Router } from '@koa/router'
import Koa, { type Context, type DefaultState } from 'koa'

const app = new Koa()
app.use(koaSignIn(signIn))
app.use(koaGuard(guard))
app.use(
  koaGuard(guard, (ctx) =>
    ctx.method === 'GET' ? { action: 'note:list', resource: { type: 'note', id: ctx.path } } : ctx.throw(405),
  ),
)
app.use(
  koaGuard(guard, (ctx: Context) => ({
    action: 'note:list',
    resource: { type: 'note', id: ctx.get('x-note'), properties: { size: ctx.request.length } },
    context: { host: ctx.host },
  })),
)
app.use(async (ctx, next) => {
  const caller: Caller = ctx.state.caller
  ctx.body = { a: caller.sub, obligations: ctx.state.decision?.obligations }
  ctx.set('x-tenant', caller.tenant_id)
  await next()
})

interface State extends DefaultState {
  caller: Caller
}
const typed = new Koa<State>()
typed.use(koaSignIn(signIn))
typed.use(koaGuard(guard))
typed.use((ctx) => {
  ctx.body = ctx.state.caller.kind
})

const router = new Router()
router.get('/b', koaGuard(guard), (ctx) => {
  ctx.body = { b: 1 }
})
router.put(
  '/c/:id',
  koaGuard(guard, (ctx) => ({ action: 'note:update', resource: { type: 'note', id: ctx.params.id } })),
  async (ctx) => {
    ctx.body = { id: ctx.params.id }
  },
)
app.use(router.routes())
