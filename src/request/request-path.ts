import type { Context, Middleware } from 'koa'
import type { HeldBytes } from '../limits/body-bytes.ts'
import { createLoopTurns } from '../limits/loop-turns.ts'
import { holdingSlot } from '../limits/tenant-slot.ts'
import { Found, Versioned } from './answer/etag.ts'
import { respond } from './answer/respond.ts'
import { showAnswer } from './answer/show-answer.ts'
import { withSignInAgain } from './answer/sign-in-again.ts'
import { authenticate } from './authenticate.ts'
import { bodyLength } from './body/read-body.ts'
import { decideRoute, logDecision } from './decide.ts'
import { loadRequest } from './load-request.ts'
import { measuredAs } from './measure-requests.ts'
import { formReceiver, longBodyOf, receiver, validInput } from './receive.ts'
import type { DecidedRoute, Input, PathDeps, Received, RequestContext } from './request-context.ts'
import type { Route } from './route.ts'
import { runRoute } from './run-route.ts'
import { bearerTokens, type Credentials, inFormOf, type VerifyDeps } from './verify-token.ts'

/**
 * The path of one request to a route, from top to bottom. The steps of every request come first (app.ts): its id, log
 * line, metrics, headers, 404 and 405. The contract sets the order of refusals: 401, 403, 400, 404, 403 for this
 * resource, 409.
 */
export function requestPath(
  deps: PathDeps & VerifyDeps,
  route: Route,
  credentials: Credentials = bearerTokens(deps),
): Middleware {
  const receive = receiver(route)
  const answer = answerer(deps, route, credentials)
  return (http) =>
    answer(
      http,
      () => receive(http),
      (shown) => respond(http, route, shown),
    )
}

/**
 * Makes the calls of a page of the service: as a request to the route with these credentials, and this body. Gives the
 * answer's body, and throws its refusal.
 */
export function routeCall(deps: PathDeps & VerifyDeps, route: Route, credentials: Credentials): RouteCall {
  const answer = answerer(deps, route, credentials)
  // Made at the first call: most processes never make most of them.
  let receive: ReturnType<typeof formReceiver> | undefined
  return async (http, body = {}, params = {}, approval = {}) => {
    receive ??= formReceiver(route)
    const read = receive
    http.params = params
    let given: unknown
    await answer(
      http,
      () => read(http, body, approval),
      (shown) => {
        given = shown
      },
    )
    return given instanceof Versioned || given instanceof Found ? given.body : given
  }
}

/** A call of a route by a page: its request, body, parameters of the path, and the approval that it may need. */
export type RouteCall = (
  http: Context,
  body?: object,
  params?: Record<string, string>,
  approval?: Partial<Pick<Input, 'approvalId' | 'asksApproval'>>,
) => Promise<unknown>

function answerer(deps: PathDeps & VerifyDeps, route: Route, credentials: Credentials) {
  const operation = measuredAs(route)
  return async (http: Context, receive: () => Promise<Received>, finish: (shown: unknown) => void) => {
    http.state.measuredAs = operation
    http.state.action = route.action
    if (isAnonymous(http, route, credentials)) {
      if (route.method !== 'GET') await anonymousTurn()
      await route.before?.(http.state.requestInfo) //                         429
      const input = validInput(await receive()) //                            400, 412, 413, 415
      const answer = await route.handle({ ...input, caller: null }, undefined)
      finish(await inFormOf(credentials, http, answer))
      return
    }
    const claims = await credentials.verify(http) //                          401, 429
    let decided: RequestContext | null = null
    let held: HeldBytes | undefined
    const inSlot = (work: () => Promise<unknown>) =>
      deps.semaphores.perTenant(claims.tenantId, (outside) => holdingSlot(outside, work))
    const permit = async (input: Input | null) => {
      const loading = loadRequest(deps, route, claims, http.params, input)
      const of = { ...loading, isCounted: held !== undefined }
      const request = await authenticate(deps, http, route as DecidedRoute, claims, of) // 401, 403, 404, 429
      decided = request
      decideRoute(deps, request) //                                           403: could it be permitted at all?
      return { request, loaded: loading.loaded }
    }
    try {
      // A client can send its body slowly, so it is read before the request takes one of its tenant's slots. Its faults
      // are reported only after the caller is permitted. The session is checked after the body: it could end while the
      // body arrives. Before a long body, the round trip of another check costs less than reading it in vain.
      const bytes = longBodyOf(http, route)
      if (bytes > 0) {
        await inSlot(() => permit(null))
        decided = null
        held = deps.holdBytes(claims.tenantId, bytes) //                      503
      }
      const received = await receive()
      held?.shrinkTo(bodyLength(http))
      await inSlot(async () => {
        const { request, loaded } = await permit('input' in received ? received.input : null)
        const input = validInput(received) //                                 400, 412, 413, 415
        const answer = await runRoute(deps, request, input, loaded) //        404, 403, 409
        const shown = await showAnswer(deps, request, answer) //              obligations: mask, step up (401)
        finish(await inFormOf(credentials, http, shown)) //                    a sign-in: 401
      })
    } catch (error) {
      throw withSignInAgain(error, decided, deps.publicUrl())
    } finally {
      held?.shrinkTo(0)
      // Outside the slot, so that waiting for the log blocks no other request of the tenant.
      if (decided) await logDecision(deps, decided)
    }
  }
}

/** Callers without a token have no limit of requests at a time. A burst of theirs lets the requests of others in between. */
const anonymousTurn = createLoopTurns()

/** A credential that is not valid is refused, never ignored. */
const isAnonymous = (
  http: Context,
  route: Route,
  credentials: Credentials,
): route is Route & { kind: 'handle' } =>
  route.access === 'public' || (route.access === 'optional' && !credentials.arePresent(http))
