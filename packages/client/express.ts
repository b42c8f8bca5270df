import type { Access, Guard } from './guard.ts'
import type { SignIn } from './sign-in/sign-in.ts'

/** What `accessOf` can read of a request, unless it names the type of Express itself. */
export interface ExpressRequest {
  headers: { authorization?: string | undefined }
  method: string
  path: string
  originalUrl: string
  // biome-ignore lint/suspicious/noExplicitAny: as Express has them
  params: any
  // biome-ignore lint/suspicious/noExplicitAny: as Express has them
  query: any
  // biome-ignore lint/suspicious/noExplicitAny: as Express has them
  body: any
}

/** Only what the guard needs: more would decide the types of the handlers after it. */
interface Request {
  headers: { authorization?: string | undefined }
}

interface Response {
  // biome-ignore lint/suspicious/noExplicitAny: as Express has them
  locals: any
  status(status: number): Response
  set(headers: Record<string, string>): Response
  // biome-ignore lint/suspicious/noExplicitAny: any other type would be the only one that later handlers can send
  send(body: any): unknown
}

/**
 * Express: lets a request pass that the guard lets in. `accessOf` names what it does to which object, if that has to be
 * decided. The caller is `res.locals.caller`, and the decision `res.locals.decision`.
 */
export const expressGuard =
  <Q extends object = ExpressRequest, S extends object = Response>(
    guard: Guard,
    accessOf?: (req: Q, res: S) => Access | null | undefined | Promise<Access | null | undefined>,
  ) =>
  async (req: Request, res: Response, next: (error?: unknown) => void): Promise<void> => {
    try {
      const outcome = await guard(req.headers.authorization, (caller) => {
        res.locals.caller = caller
        return accessOf?.(req as Q, res as unknown as S)
      })
      if ('caller' in outcome) {
        Object.assign(res.locals, outcome)
        return next()
      }
      const { status, headers, body } = outcome.refusal
      delete res.locals.caller
      res.status(status).set(headers).send(body)
    } catch (error) {
      next(error)
    }
  }

/**
 * Express: answers the steps of the sign-in. For other requests, `res.locals.session` is who is signed in, or null. Use it before
 * the routes that ask, and without a path.
 */
export const expressSignIn =
  (signIn: SignIn) =>
  async (
    req: { method: string; originalUrl: string; headers: { cookie?: string | undefined } },
    res: Response & { append(name: string, value: string[]): unknown },
    next: (error?: unknown) => void,
  ): Promise<void> => {
    try {
      const { method, originalUrl: url } = req
      const { answer, cookies, session } = await signIn.handle({ method, url, cookie: req.headers.cookie })
      if (cookies.length > 0) res.append('set-cookie', cookies)
      if (answer) return void res.status(answer.status).set(answer.headers).send(answer.body)
      res.locals.session = session
      next()
    } catch (error) {
      next(error)
    }
  }
