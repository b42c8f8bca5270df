import type { Access, Guard } from './guard.ts'

interface Request {
  headers: { authorization?: string | undefined }
}

interface Response {
  status(status: number): Response
  set(headers: Record<string, string>): Response
  send(body: string): unknown
}

/**
 * Express: lets a request pass that the guard lets in. `accessOf` names what it does to which object, if that has to be
 * decided. The claims of the token are `res.locals.caller`.
 */
export const expressGuard =
  <Q extends Request, S extends Response & { locals: Record<string, unknown> }>(
    guard: Guard,
    accessOf?: (req: Q, res: S) => Access | Promise<Access>,
  ) =>
  async (req: Q, res: S, next: (error?: unknown) => void): Promise<void> => {
    try {
      const outcome = await guard(req.headers.authorization, (caller) => {
        res.locals.caller = caller
        return accessOf?.(req, res)
      })
      if ('caller' in outcome) return next()
      const { status, headers, body } = outcome.refusal
      delete res.locals.caller
      res.status(status).set(headers).send(body)
    } catch (error) {
      next(error)
    }
  }
