import type { Caller } from './caller.ts'
import type { AccessDecision } from './decide.ts'
import type { Access, Guard, LetIn } from './guard.ts'
import type { Session, SignIn } from './sign-in/sign-in.ts'

/** What `accessOf` can read of a request, unless it names the type of Fastify itself. */
export interface FastifyRequest {
  headers: { authorization?: string | undefined }
  method: string
  url: string
  // biome-ignore lint/suspicious/noExplicitAny: as Fastify has them
  params: any
  // biome-ignore lint/suspicious/noExplicitAny: as Fastify has them
  query: any
  // biome-ignore lint/suspicious/noExplicitAny: as Fastify has them
  body: any
}

interface Reply {
  code(status: number): Reply
  headers(headers: Record<string, string>): Reply
  // biome-ignore lint/suspicious/noExplicitAny: any other type would be the only one that later handlers can send
  send(body: any): unknown
}

const outcomes = new WeakMap<object, Partial<LetIn>>()

/** The caller of a request that the guard let in. */
export const callerOf = (request: object): Caller | undefined => outcomes.get(request)?.caller

/** The decision about a request that the guard let in; null where no access was named. */
export const decisionOf = (request: object): AccessDecision | null => outcomes.get(request)?.decision ?? null

/**
 * Fastify: an `onRequest` or `preHandler` hook that lets a request pass which the guard lets in. `accessOf` names what it
 * does to which object, if that has to be decided; only a `preHandler` can read the body for it. {@link callerOf} gives
 * the caller, and {@link decisionOf} the decision.
 */
export const fastifyGuard =
  <Q extends object = FastifyRequest>(
    guard: Guard,
    accessOf?: (request: Q) => Access | null | undefined | Promise<Access | null | undefined>,
  ) =>
  async (request: Pick<FastifyRequest, 'headers'>, reply: Reply): Promise<unknown> => {
    const outcome = await guard(request.headers.authorization, (caller) => {
      outcomes.set(request, { caller })
      return accessOf?.(request as Q)
    })
    if ('caller' in outcome) {
      outcomes.set(request, outcome)
      return undefined
    }
    const { status, headers, body } = outcome.refusal
    outcomes.delete(request)
    reply.code(status).headers(headers).send(body)
    return reply
  }

const sessions = new WeakMap<object, Session | null>()

/** Who is signed in, after the hook of {@link fastifySignIn}. */
export const sessionOf = (request: object): Session | null => sessions.get(request) ?? null

/** Fastify: an `onRequest` hook that answers the steps of the sign-in. For other requests, {@link sessionOf} says who is signed in. */
export const fastifySignIn =
  (signIn: SignIn) =>
  async (
    request: { method: string; originalUrl: string; headers: { cookie?: string | undefined } },
    reply: Reply & { header(name: string, value: string[]): unknown },
  ): Promise<unknown> => {
    const { method, originalUrl: url } = request
    const { answer, cookies, session } = await signIn.handle({ method, url, cookie: request.headers.cookie })
    if (cookies.length > 0) reply.header('set-cookie', cookies)
    sessions.set(request, session)
    if (!answer) return undefined
    reply.code(answer.status).headers(answer.headers).send(answer.body)
    return reply
  }
