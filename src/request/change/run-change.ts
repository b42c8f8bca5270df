import { inTenant, type Tx } from '../../database/executor/transaction.ts'
import { countLog } from '../../database/log-quota.ts'
import { notFound, unavailable } from '../../errors.ts'
import { createKeyedSemaphore } from '../../limits/keyed-semaphore.ts'
import { actions } from '../../policy-engine/catalogue/actions.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import type { Caller } from '../caller.ts'
import { decide, logWithChange, resourceIn, sentResource } from '../decide.ts'
import { guardedCall } from '../guarded-call.ts'
import { type Allowed, assertAllowed, permit, permitChange } from '../permit.ts'
import type { PathDeps, RequestContext } from '../request-context.ts'
import { type AnyInput, overtaken, type Route } from '../route.ts'
import { Accepted, type StoredCall } from './approvals.ts'
import { refreshCaller } from './refresh-caller.ts'
import type { RepeatableCall } from './repeatable-call.ts'

interface Change {
  route: Route & { kind: 'change' }
  input: AnyInput
  /** From `Approval-Request`. */
  approvalId: string | null
  /** Whether a call that needs an approval asks for it. */
  asksApproval: boolean
  /** From `Idempotency-Key`; null without one. */
  repeatable: RepeatableCall | null
  /** The call to store, if it needs an approval; null where the caller does not prefer it, or it cannot be stored. */
  stored: StoredCall | null
  /** It is a stored call that is carried out. */
  later: boolean
}

/** The value of `prepare`; undefined for a route without it. */
interface Prepared {
  value: unknown
}

const maxTries = 5

// Changes that were overtaken try again one after the other, so that they do not overtake one another. Later changes of
// the tenant wait behind them, so that none is overtaken for ever.
const oneByOne = createKeyedSemaphore({ maxConcurrent: 1, maxWaiting: 1_000, maxWaitMs: 20_000 })
const overtakenIn = new Map<string, number>()

async function behindOvertaken<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
  overtakenIn.set(tenantId, (overtakenIn.get(tenantId) ?? 0) + 1)
  try {
    return await oneByOne(tenantId, work)
  } finally {
    const left = overtakenIn.get(tenantId)! - 1
    if (left > 0) overtakenIn.set(tenantId, left)
    else overtakenIn.delete(tenantId)
  }
}

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
    const prepared = { value: undefined }
    const { first, loaded, permitted } = await loadAndDecide(tx, deps, request, change, prepared)
    if (!permitted) throw new Error('A change was overtaken that was not prepared')
    if (permitted.effect !== 'allow') return { permitted, answer: undefined, isLogged: false }
    if (first) return { permitted, answer: repeated(request, first), isLogged: false }
    return { permitted, ...(await actAndConsume(tx, deps, request, change, { loaded, permitted, prepared })) }
  })
  request.isLogged = done.isLogged
  if ('accepted' in done.permitted && done.permitted.accepted) return done.permitted.accepted
  assertAllowed(done.permitted)
  return done.answer
}

/**
 * Uses two transactions, and a third one to decide again when the caller's rights changed while the change was prepared, or
 * when it needs an approval, which is asked for once it is prepared. Starts again when `act` returns `overtaken`; throws 503
 * `overloaded` after five tries.
 */
async function decideThenChange(deps: PathDeps, request: RequestContext, asked: Change): Promise<unknown> {
  const { route, repeatable } = asked
  const { tenantId } = request.caller
  let change = asked
  const decideNow = async (prepared: Prepared | null) => {
    const decided = await inTenant(deps.db, request.caller, (tx) =>
      loadAndDecide(tx, deps, request, change, prepared),
    )
    const { permitted } = decided
    if (!permitted) return { ...decided, permitted }
    if ('accepted' in permitted && permitted.accepted) return permitted.accepted
    assertAllowed(permitted)
    return { ...decided, permitted }
  }
  const once = async () => {
    let decided = await decideNow(route.prepare ? null : { value: undefined })
    if (decided instanceof Accepted) return decided
    if (decided.first && !request.route.secret) return repeated(request, decided.first)
    const prepared = { value: await route.prepare?.(change.input, decided.loaded) }
    // Compiling or hashing takes long. In a new tenant the caller has no rights yet that could change.
    const isChanged = route.prepare && !route.into && (await refreshCaller(deps, request))
    if (isChanged) change = { ...change, input: { ...change.input, caller: request.caller } }
    if (isChanged || !decided.permitted) {
      decided = await decideNow(prepared)
      if (decided instanceof Accepted) return decided
    }
    const { first, loaded, permitted } = decided
    if (!permitted) return overtaken
    // A secret is shown again only to a caller who could make one now.
    if (first) return repeated(request, first)
    const { caller } = request
    const scope = route.into ? { ...caller, tenantId: route.into(prepared.value) } : caller
    const act = async () => {
      const done = await inTenant(deps.db, scope, async (tx) => {
        // The turn that the first transaction took has ended with it.
        const first = repeatable ? await repeatable.find(tx) : null
        if (first) return { answer: repeated(request, first), isLogged: false }
        return actAndConsume(tx, deps, request, change, { loaded, permitted, prepared })
      })
      request.isLogged = done.isLogged
      return done.answer
    }
    return route.around ? route.around(act, { input: change.input, loaded, prepared: prepared.value }) : act()
  }
  for (let tries = 0; tries < maxTries; tries++) {
    const isFree = tries === 0 && !overtakenIn.has(tenantId)
    const answer = await (isFree ? once() : behindOvertaken(tenantId, once))
    if (answer !== overtaken) return answer
  }
  throw unavailable('overloaded', 'Other requests are changing the same object. Try again.', 1)
}

/** The answer that an earlier call with the same `Idempotency-Key` got. */
function repeated({ http }: RequestContext, first: { answer: unknown }): unknown {
  http.set('Idempotency-Replayed', 'true')
  return first.answer
}

/**
 * Also gives the answer of the first call, if this one repeats it: the caller needs the permission still. `permitted` is
 * null if the change needs an approval and is not prepared yet.
 */
async function loadAndDecide(
  tx: Tx,
  deps: PathDeps,
  request: RequestContext,
  change: Change,
  prepared: Prepared | null,
) {
  const { route, input, approvalId, asksApproval, repeatable } = change
  const first = repeatable ? await repeatable.find(tx) : null
  const call = guardedCall(request, change)
  // Lock the approval first: of two calls with the same approval, the second waits here and then finds it used.
  const presented = approvalId === null || first ? null : await deps.approvals.find(tx, call, approvalId)
  const loaded = route.load ? await route.load(tx, input) : undefined
  if (loaded === null) throw notFound()
  // For the approval request that the change may need.
  countChange(tx, deps, request, change, { caller: request.caller, loaded, isPermitted: false })
  const resource = route.resource
    ? resourceIn(request, route.resource(loaded, input))
    : sentResource(request, input.body)
  const gated = actions[request.route.action].gate && !first
  const decided = () => decide(deps, request, 'resource', resource)
  const permitted = gated
    ? await permitChange(tx, deps, request, resource, {
        call,
        named: approvalId === null ? null : { id: approvalId, presented },
        asksApproval,
        attempt:
          prepared &&
          (() => tx.attempt((inner) => makeChange(inner, deps, request, change, { loaded, prepared }))),
      })
    : permit(request, first ? withoutGate(decided()) : decided())
  return { first, loaded, permitted }
}

/** The approval of a repeated call was consumed by the first one, which made the change. */
const withoutGate = (decision: Decision): Decision =>
  decision.effect === 'require_approval' ? { ...decision, effect: 'allow' } : decision

/** Makes the change, which counts against the quota of the tenant's logs. */
function makeChange(
  tx: Tx,
  deps: PathDeps,
  request: RequestContext,
  change: Change,
  { loaded, prepared: { value } }: { loaded: unknown; prepared: Prepared },
): Promise<unknown> {
  const { route, input } = change
  const caller = { ...request.caller, ...(route.into && { tenantId: route.into(value) }) }
  countChange(tx, deps, request, change, { caller, loaded, isPermitted: true })
  return route.act(tx, input, loaded, value)
}

/** Also stores the decision with the change. */
async function actAndConsume(
  tx: Tx,
  deps: PathDeps,
  request: RequestContext,
  change: Change,
  decided: { loaded: unknown; permitted: Allowed; prepared: Prepared },
): Promise<{ answer: unknown; isLogged: boolean }> {
  const { route, repeatable } = change
  const answer = await makeChange(tx, deps, request, change, decided)
  const { approvalId } = decided.permitted
  if (answer === overtaken) return { answer, isLogged: false }
  if (approvalId !== null) await deps.approvals.consume(tx, guardedCall(request, change), approvalId)
  repeatable?.store(tx, answer)
  // The transaction of a new tenant does not see the caller's.
  return { answer, isLogged: !route.into && logWithChange(tx, deps, request) }
}

/** A change that takes something away is made although the tenant's logs are full for the day, and its approval requested. */
function countChange(
  tx: Tx,
  deps: PathDeps,
  request: RequestContext,
  { route, input }: Change,
  { caller, loaded, isPermitted }: { caller: Caller; loaded: unknown; isPermitted: boolean },
): void {
  const takesAway = request.route.method === 'DELETE' || (route.takesAway?.(input, loaded) ?? false)
  const use = !takesAway ? 'adds' : isPermitted ? 'removes' : 'asks_to_remove'
  countLog(tx, deps.config, { caller, at: request.now, use })
}
