import { randomUUIDv7 } from 'node:crypto'
import type { Context } from 'koa'
import { type ActionName, actions } from '../access/actions.ts'
import type { Decision } from '../access/decision.ts'
import type { DecisionQuery, Resource } from '../access/query.ts'
import { emptySlice } from '../access/slice.ts'
import type { Actor } from './actor.ts'
import { type AuthenticateDeps, authenticate, type Bearer, type Claims } from './authenticate.ts'
import { assertSteppedUp, masked } from './carry-out.ts'
import { type DecideDeps, deniedForever, queryOf, refusal } from './decide.ts'
import { callGate } from './gate.ts'
import type { Route } from './route.ts'
import { traceDecision } from './trace-requests.ts'

export type AdmitDeps = AuthenticateDeps & DecideDeps

/** Who got as far as the handler, and what is still to be decided on the way. */
export interface Admission {
  actor: Actor
  /** Binds the call to what was validated of it, for gates and approvals. Throws 400 for a malformed approval. */
  bind(body: unknown): Promise<void>
  /** Runs the verb, and turns a gate that it meets into the request for an approval. */
  through<T>(verb: () => Promise<T>): Promise<T>
  /** The full decision of a route that loads nothing: about what the caller is about to write. Throws 401, 403. */
  decideRoute(fields: unknown): void
  /** What of the handler's answer may be seen: rows that are not permitted left out, masked fields null. */
  show(answer: unknown): unknown
  /** Hands the last decision to the log. */
  conclude(): Promise<void>
}

/**
 * Authenticates the bearer and asks whether the route could be permitted to them at all, with the policies of the
 * revision that stood beside the session. Throws 401, 403 and 404; `conclude` is due in either case.
 */
export async function admit(deps: AdmitDeps, ctx: Context, route: Route, claims: Claims): Promise<Admission> {
  if (route.action === 'public') throw new Error('A public route has no actor')
  const { action } = route
  const bearer = await authenticate(deps, ctx, route, claims)
  const { origin } = ctx.state
  const id = randomUUIDv7()
  Object.assign(ctx.state, { userId: bearer.userId, tenantId: bearer.tenantId, decisionId: id })
  const sliceOf = await slices(deps, bearer)
  const now = deps.clock()
  const collection = collectionOf(route, bearer)
  const gate = callGate(deps.approvals, { ctx, route, bearer, decisionId: id, now })
  let last: { query: DecisionQuery; decision: Decision } | undefined

  const weigh = (phase: DecisionQuery['phase'], resource: Resource) => {
    const slice = sliceOf(resource.type, action, now)
    const [approval, othersCanApprove] = [gate.approvalFor(resource), gate.othersCanApprove()]
    const asked = { action, phase, bearer, origin, resource, slice, now, approval, othersCanApprove }
    const query = queryOf(asked)
    return { query, decision: deps.access.decide(query) }
  }
  const ask = (phase: DecisionQuery['phase'], resource: Resource): Decision => {
    last = weigh(phase, resource)
    traceDecision(ctx, phase, last.decision)
    return last.decision
  }
  const insist = (decision: Decision, resource: Resource) => {
    if (decision.effect === 'deny') throw refusal(decision, id)
    gate.pass(decision, resource)
    assertSteppedUp(decision.obligations, bearer.standing.session, now)
    gate.arm()
  }
  const refuse = (decision: Decision) => {
    const denied = deniedForever(decision)
    traceDecision(ctx, 'resource', denied)
    if (last) last = { ...last, decision: denied }
    return refusal(denied, id)
  }
  const conclude = async () => {
    if (!last) return
    const always = last.decision.effect !== 'allow' || changes(route)
    await deps.recordDecision({ id, ...last, always })
  }
  const permit: Actor['permit'] = (resource) => {
    ctx.state.undecided = false
    const whole = { ...collection, ownerId: null, ...resource }
    insist(ask('resource', whole), whole)
  }
  const may: Actor['may'] = (resource) =>
    weigh('resource', { ...collection, ownerId: null, ...resource }).decision.effect === 'allow'
  const admission: Admission = {
    actor: { ...bearer, origin, decisionId: id, permit, may, beforeCommit: gate.beforeCommit },
    bind: gate.bind,
    through: (verb) => gate.through(verb, refuse),
    decideRoute(fields) {
      if (route.decides === 'resource' || !last) return
      const { provisional, effect } = last.decision
      const changes = { ...collection, fields: route.status === 201 ? fieldsOf(fields) : {} }
      if (!provisional && effect === 'allow') insist(last.decision, collection)
      // What is read is decided when it is known; of what is made, what is sent is all there is.
      else if (route.method !== 'GET') insist(ask('resource', changes), changes)
    },
    show(answer) {
      if (!last || isPage(answer)) return last && isPage(answer) ? pageSeen(answer, last.decision) : answer
      if (last.decision.provisional) insist(ask('resource', shown(answer)), shown(answer))
      return masked(answer, last.decision.obligations)
    },
    conclude,
  }
  const shown = (row: unknown): Resource => {
    const fields = fieldsOf(row)
    const { self, roles } = actions[action]
    // What is about oneself alone shows nothing else, whoever wrote the row: an invitation, a request to decide.
    const onlyOwn = self && roles.length === 0
    const ownerId = onlyOwn ? bearer.userId : (ownerOf(fields) ?? (self ? bearer.userId : null))
    return { ...collection, id: textOf(fields.id), ownerId, fields }
  }
  const pageSeen = (page: Page, { provisional, obligations }: Decision): Page => {
    if (!provisional) return { ...page, results: page.results.map((row) => masked(row, obligations)) }
    const decided = page.results.map((row) => ({ row, decision: weigh('resource', shown(row)).decision }))
    const permitted = decided.filter(({ decision }) => decision.effect === 'allow')
    return { ...page, results: permitted.map(({ row, decision }) => masked(row, decision.obligations)) }
  }
  ctx.state.undecided = route.decides === 'resource'
  try {
    const decision = ask('route', collection)
    // A gate is met once the call is known whole: what it is about, and with which body.
    if (decision.effect === 'deny') throw refusal(decision, id)
  } catch (error) {
    await conclude()
    throw error
  }
  return admission
}

async function slices(deps: DecideDeps, { standing, tenantId, userId }: Bearer) {
  if (!standing.tenant) return () => emptySlice(tenantId, 0)
  const loaded = deps.loadPolicies({ tenantId, userId }, standing.tenant.policyRevision)
  const policies = loaded instanceof Promise ? await loaded : loaded
  return policies.slice
}

/** Before a resource is loaded the question is about the caller's own, inside the tenant of the request. */
const collectionOf = ({ action, scope }: Route, bearer: Bearer): Resource => ({
  type: action.split(':')[0] ?? '',
  id: scope === 'path' ? bearer.tenantId : null,
  tenantId: bearer.tenantId,
  ownerId: bearer.userId,
})

// Asking is no change, whatever the method.
const asking: ReadonlySet<string> = new Set<ActionName>(['access:evaluate', 'policy:test'])
const changes = ({ method, action }: Route) => method !== 'GET' && !asking.has(action)

interface Page {
  results: unknown[]
}

const isPage = (answer: unknown): answer is Page => Array.isArray((answer as Partial<Page> | null)?.results)

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const textOf = (value: unknown) => (typeof value === 'string' ? value : null)

/** Whose a row is, as rows say it. */
const ownerOf = (row: Record<string, unknown>): string | null =>
  textOf(row.user_id) ??
  textOf(fieldsOf(row.requester).id) ??
  textOf(fieldsOf(row.subject).id) ??
  textOf(fieldsOf(row.invited_by).id)
