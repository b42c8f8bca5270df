import type { Access, Guard } from './guard.ts'

interface Context {
  headers: { authorization?: string | undefined }
  state: Record<string, unknown>
  status: number
  body: unknown
  set(headers: Record<string, string>): unknown
}

/**
 * Koa: lets a request pass that the guard lets in. `accessOf` names what it does to which object, if that has to be
 * decided. The claims of the token are `ctx.state.caller`.
 */
export const koaGuard =
  <C extends Context>(guard: Guard, accessOf?: (ctx: C) => Access | Promise<Access>) =>
  async (ctx: C, next: () => Promise<unknown>): Promise<void> => {
    const outcome = await guard(ctx.headers.authorization, (caller) => {
      ctx.state.caller = caller
      return accessOf?.(ctx)
    })
    if ('caller' in outcome) return void (await next())
    const { status, headers, body } = outcome.refusal
    delete ctx.state.caller
    ctx.status = status
    ctx.set(headers)
    ctx.body = body
  }
