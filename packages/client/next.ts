import type { Caller } from './caller.ts'
import type { AccessDecision } from './decide.ts'
import type { Access, Guard } from './guard.ts'

/**
 * Next: wraps a route handler, which runs for a request that the guard lets in, and gets the caller and the decision.
 * `accessOf` names what the request does to which object, if that has to be decided. Works for every framework with the
 * Request and Response of the web.
 */
export const nextGuard =
  <R extends Request, C>(
    guard: Guard,
    handler: (
      request: R,
      context: C,
      caller: Caller,
      decision: AccessDecision | null,
    ) => Response | Promise<Response>,
    accessOf?: (
      request: R,
      context: C,
      caller: Caller,
    ) => Access | null | undefined | Promise<Access | null | undefined>,
  ) =>
  async (request: R, context: C): Promise<Response> => {
    const outcome = await guard(request.headers.get('authorization'), (caller) =>
      accessOf?.(request, context, caller),
    )
    if ('caller' in outcome) return handler(request, context, outcome.caller, outcome.decision)
    const { status, headers, body } = outcome.refusal
    return new Response(body, { status, headers })
  }
