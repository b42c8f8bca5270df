import { notFound } from '../errors.ts'
import { repeatableCall } from './change/repeatable-call.ts'
import { runBulk } from './change/run-bulk.ts'
import { runChange } from './change/run-change.ts'
import { storedCallOf } from './change/stored-call.ts'
import { decide, resourceIn, sentResource } from './decide.ts'
import { assertAllAllowed, type Permit, permit } from './permit.ts'
import type { Input, Loading, PathDeps, RequestContext } from './request-context.ts'
import type { AnyInput } from './route.ts'

/**
 * Runs the functions of a route, each after the decision it needs, and gives their answer. Throws the decision's
 * refusal (401, 403, 404) and the errors of the functions.
 */
export async function runRoute(
  deps: PathDeps,
  request: RequestContext,
  input: Input,
  load: Loading['loaded'],
): Promise<unknown> {
  const { route } = request
  const routeInput: AnyInput = { ...input, caller: request.caller }
  switch (route.kind) {
    case 'handle': {
      assertAllAllowed(request, (one) => permitSent(deps, one, input.body))
      const loaded = route.load ? await load() : undefined
      if (loaded === null) throw notFound()
      return route.handle(routeInput, loaded)
    }
    case 'resource': {
      const loaded = await load()
      const resource = loaded === null ? null : route.resource(loaded, routeInput)
      if (!resource) throw notFound()
      assertAllAllowed(request, (one) =>
        permit(one, decide(deps, one, 'resource', resourceIn(one, resource))),
      )
      return route.handle(routeInput, loaded)
    }
    case 'bulk':
      return runBulk(deps, request, route, routeInput)
    case 'change': {
      const answer = await runChange(deps, request, {
        route,
        input: routeInput,
        approvalId: input.approvalId,
        asksApproval: input.asksApproval,
        stored: storedCallOf(request, input),
        later: false,
        repeatable:
          input.idempotencyKey === null
            ? null
            : repeatableCall(deps, request, routeInput, input.idempotencyKey),
      })
      if (changesPolicies.test(route.action)) deps.policyCache.forget(request.caller.tenantId)
      return answer
    }
  }
}

/** Changes of what decisions read: most give the tenant's policies a new revision. */
const changesPolicies = /^(policy|role|attribute_definition|department):/

/** The permit for what was sent. A GET with a provisional decision is decided on its answer (show-answer.ts). */
function permitSent(deps: PathDeps, request: RequestContext, body: unknown): Permit {
  const { decision } = request.decided!
  if (!decision.provisional) return permit(request, decision)
  if (request.route.method === 'GET') return { effect: 'allow', approvalId: null }
  return permit(request, decide(deps, request, 'resource', sentResource(request, body)))
}
