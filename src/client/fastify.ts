import type { Access, Guard } from './guard.ts'
import type { AccessClaims } from './verify-token.ts'

interface Request {
  headers: { authorization?: string | undefined }
}

interface Reply {
  code(status: number): Reply
  headers(headers: Record<string, string>): Reply
  send(body: string): unknown
}

const callers = new WeakMap<object, AccessClaims>()

/** The claims of the token of a request that the guard let in. */
export const callerOf = (request: object): AccessClaims | undefined => callers.get(request)

/**
 * Fastify: a `preHandler` that lets a request pass which the guard lets in. `accessOf` names what it does to which
 * object, if that has to be decided. {@link callerOf} gives the claims of the token.
 */
export const fastifyGuard =
  <Q extends Request>(guard: Guard, accessOf?: (request: Q) => Access | Promise<Access>) =>
  async (request: Q, reply: Reply): Promise<unknown> => {
    const outcome = await guard(request.headers.authorization, (caller) => {
      callers.set(request, caller)
      return accessOf?.(request)
    })
    if ('caller' in outcome) return undefined
    const { status, headers, body } = outcome.refusal
    callers.delete(request)
    reply.code(status).headers(headers).send(body)
    return reply
  }
