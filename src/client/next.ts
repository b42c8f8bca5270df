import type { Access, Guard } from './guard.ts'
import type { AccessClaims } from './verify-token.ts'

/** A route handler of Next, or of another framework with the Request and Response of the web. */
type Handler<R extends Request, C> = (request: R, context: C) => Promise<Response>

/**
 * Next: wraps a route handler, which runs for a request that the guard lets in and gets the claims of the token.
 * `accessOf` names what the request does to which object, if that has to be decided.
 */
export const nextGuard =
  <R extends Request, C>(
    guard: Guard,
    handler: (request: R, context: C, caller: AccessClaims) => Response | Promise<Response>,
    accessOf?: (request: R, context: C, caller: AccessClaims) => Access | Promise<Access>,
  ): Handler<R, C> =>
  async (request, context) => {
    const outcome = await guard(request.headers.get('authorization'), (caller) =>
      accessOf?.(request, context, caller),
    )
    if ('caller' in outcome) return handler(request, context, outcome.caller)
    const { status, headers, body } = outcome.refusal
    return new Response(body, { status, headers })
  }
