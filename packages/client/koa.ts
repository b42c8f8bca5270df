import type { Access, Guard } from './guard.ts'
import type { SignIn } from './sign-in/sign-in.ts'

/** What `accessOf` can read of a request, unless it names the type of Koa itself. */
export interface KoaContext {
  headers: { authorization?: string | undefined }
  method: string
  path: string
  // biome-ignore lint/suspicious/noExplicitAny: as Koa has them
  query: any
  // biome-ignore lint/suspicious/noExplicitAny: as a router has them
  params?: any
  // biome-ignore lint/suspicious/noExplicitAny: as Koa has them
  request: any
  // biome-ignore lint/suspicious/noExplicitAny: as Koa has them
  state: any
  // biome-ignore lint/suspicious/noExplicitAny: as Koa has them
  throw(...reasons: any[]): never
}

/** Only what the guard needs: more would decide the types of the middleware after it. */
interface Context {
  headers: { authorization?: string | undefined }
  // biome-ignore lint/suspicious/noExplicitAny: as Koa has them
  state: any
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: as Koa has them
  body: any
  set(headers: Record<string, string>): unknown
}

/**
 * Koa: lets a request pass that the guard lets in. `accessOf` names what it does to which object, if that has to be
 * decided. The caller is `ctx.state.caller`, and the decision `ctx.state.decision`.
 */
export const koaGuard =
  <C extends object = KoaContext>(
    guard: Guard,
    accessOf?: (ctx: C) => Access | null | undefined | Promise<Access | null | undefined>,
  ) =>
  async (ctx: Context, next: () => Promise<unknown>): Promise<void> => {
    const outcome = await guard(ctx.headers.authorization, (caller) => {
      ctx.state.caller = caller
      return accessOf?.(ctx as unknown as C)
    })
    if ('caller' in outcome) {
      Object.assign(ctx.state, outcome)
      return void (await next())
    }
    const { status, headers, body } = outcome.refusal
    delete ctx.state.caller
    ctx.status = status
    ctx.set(headers)
    ctx.body = body
  }

/** Koa: answers the steps of the sign-in. For other requests, `ctx.state.session` is who is signed in, or null. */
export const koaSignIn =
  (signIn: SignIn) =>
  async (
    ctx: Omit<Context, 'headers'> & {
      method: string
      originalUrl: string
      headers: { cookie?: string | undefined }
      append(name: string, value: string[]): unknown
    },
    next: () => Promise<unknown>,
  ): Promise<void> => {
    const { method, originalUrl: url } = ctx
    const { answer, cookies, session } = await signIn.handle({ method, url, cookie: ctx.headers.cookie })
    if (cookies.length > 0) ctx.append('set-cookie', cookies)
    ctx.state.session = session
    if (!answer) return void (await next())
    ctx.status = answer.status
    ctx.set(answer.headers)
    ctx.body = answer.body
  }
