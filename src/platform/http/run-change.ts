import { actions } from '../../policy-engine/catalogue/actions.ts'
import { inTenant, type Tx } from '../db/transaction.ts'
import { notFound, unavailable } from '../errors.ts'
import type { GuardedCall } from './approvals.ts'
import { decide, resourceIn, sentResource } from './decide.ts'
import { type Allowed, assertAllowed, permit, permitChange } from './permit.ts'
import type { PathDeps, RequestContext } from './request-context.ts'
import { type AnyInput, type Changing, overtaken } from './route.ts'

interface Change {
  route: Changing
  input: AnyInput
  /** From `Approval-Request`. */
  approvalId: string | null
}

const maxTries = 5

/**
 * Loads, decides and changes in one transaction, which also consumes the approval that permits the change. A route with
 * `prepare` or `around` uses two transactions. Throws the decision's refusal, and 404.
 */
export const runChange = (deps: PathDeps, request: RequestContext, change: Change): Promise<unknown> =>
  change.route.prepare || change.route.around
    ? decideThenChange(deps, request, change)
    : decideAndChange(deps, request, change)

async function decideAndChange(deps: PathDeps, request: RequestContext, change: Change): Promise<unknown> {
  const done = await inTenant(deps.db, request.caller, async (tx) => {
    const { loaded, permitted } = await loadAndDecide(tx, deps, request, change)
    if (permitted.effect !== 'allow') return { permitted, answer: undefined }
    return { permitted, answer: await actAndConsume(tx, deps, request, change, { loaded, permitted }) }
  })
  assertAllowed(done.permitted)
  return done.answer
}

/** Uses two transactions. Starts again when `act` returns `overtaken`; throws 503 `overloaded` after five tries. */
async function decideThenChange(deps: PathDeps, request: RequestContext, change: Change): Promise<unknown> {
  const { route, input } = change
  const { caller } = request
  for (let tries = 0; tries < maxTries; tries++) {
    const { loaded, permitted } = await inTenant(deps.db, caller, (tx) =>
      loadAndDecide(tx, deps, request, change),
    )
    assertAllowed(permitted)
    const prepared = await route.prepare?.(loaded, input)
    const act = () =>
      inTenant(deps.db, caller, (tx) =>
        actAndConsume(tx, deps, request, change, { loaded, permitted, prepared }),
      )
    const answer = await (route.around ? route.around(act, { input, loaded, prepared }) : act())
    if (answer !== overtaken) return answer
  }
  throw unavailable('overloaded', 'Other requests are changing the same object. Try again.', 1)
}

async function loadAndDecide(
  tx: Tx,
  deps: PathDeps,
  request: RequestContext,
  { route, input, approvalId }: Change,
) {
  const call = guardedCall(request, input)
  // Lock the approval first: of two calls with the same approval, the second waits here and then finds it used.
  const presented = approvalId === null ? null : await deps.approvals.find(tx, call, approvalId)
  const loaded = route.load ? await route.load(tx, input) : undefined
  if (loaded === null) throw notFound()
  const resource = route.resource
    ? resourceIn(request, route.resource(loaded, input))
    : sentResource(request, input.body)
  const permitted = actions[request.route.action].gate
    ? await permitChange(tx, deps, request, resource, {
        call,
        named: approvalId === null ? null : { id: approvalId, presented },
      })
    : permit(request, decide(deps, request, 'resource', resource))
  return { loaded, permitted }
}

async function actAndConsume(
  tx: Tx,
  deps: PathDeps,
  request: RequestContext,
  { route, input }: Change,
  decided: { loaded: unknown; permitted: Allowed; prepared?: unknown },
): Promise<unknown> {
  const answer = await route.act(tx, input, decided.loaded, decided.prepared)
  const { approvalId } = decided.permitted
  if (approvalId !== null && answer !== overtaken)
    await deps.approvals.consume(tx, guardedCall(request, input), approvalId)
  return answer
}

/** The call that an approval is bound to. */
function guardedCall({ http, route, caller, now }: RequestContext, { body }: AnyInput): GuardedCall {
  const { tenantId, userId, auth, requestInfo, decisionId } = caller
  return {
    tenantId,
    userId,
    email: auth.user.email,
    requestInfo,
    action: route.action,
    method: route.method,
    // The console serves the same routes under a path of its own.
    path: http.path.replace(/^\/console\/api\//, '/api/v1/'),
    route: route.path,
    body: route.body ? body : null,
    shownBody: route.body ? (route.shownBody?.(body) ?? body) : null,
    decisionId,
    now,
  }
}
