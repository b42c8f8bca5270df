import type { Caller } from './caller.ts'
import type { AccessDecision } from './decide.ts'
import type { Access, Guard } from './guard.ts'
import type { SignIn } from './sign-in/sign-in.ts'

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

/** What `NextResponse` has of it. */
interface NextResponses {
  next(init: { request: { headers: Headers } }): Response
}

/**
 * Next: the function for `proxy.ts` (`middleware.ts` before Next 16), which answers the steps of the sign-in. For other requests
 * it refreshes the session when that is due. Pages and route handlers ask `signIn.session((await headers()).get('cookie'))`.
 */
export const nextSignIn =
  (signIn: SignIn, responses: NextResponses) =>
  async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url)
    const { method, headers } = request
    const handled = await signIn.handle({ method, url: pathname + search, cookie: headers.get('cookie') })
    const { answer, cookies, cookie } = handled
    const passed = new Headers(headers)
    passed.set('cookie', cookie)
    const response = answer
      ? new Response(answer.body, { status: answer.status, headers: answer.headers })
      : responses.next({ request: { headers: passed } })
    // Next takes only whole addresses here, and sends a path for one of its own.
    const location = response.headers.get('location')
    if (location) response.headers.set('location', new URL(location, request.url).href)
    for (const one of cookies) response.headers.append('set-cookie', one)
    return response
  }
