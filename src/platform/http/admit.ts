import { randomUUIDv7 } from 'node:crypto'
import type { Context } from 'koa'
import type { ActionName } from '../access/actions.ts'
import type { Decision } from '../access/decision.ts'
import type { DecisionQuery, Resource } from '../access/query.ts'
import { emptySlice } from '../access/slice.ts'
import { type AuthenticateDeps, authenticate, type Bearer, type Claims } from './authenticate.ts'
import type { Caller } from './caller.ts'
import { type DecideDeps, deniedBecause, queryOf, refusal } from './decide.ts'
import { callGate } from './gate.ts'
import { DecidedPage } from './lists.ts'
import { carryOut, type StepUp, stepUpDue, stepUpRequired } from './obligations.ts'
import type { Route } from './route.ts'
import { collectionOf, fieldsOf, resourceOf } from './route-resources.ts'
import { rowView } from './row-view.ts'
import { traceDecision } from './trace-requests.ts'

export type AdmitDeps = AuthenticateDeps & DecideDeps

/** Who got as far as the handler, and what is still to be decided on the way. */
export interface Admission {
  caller: Caller
  /** Binds the call to what was validated of it, for gates and approvals. Throws 400 for a malformed approval. */
  bind(body: unknown): Promise<void>
  /** Runs the verb, and turns a gate that it meets into the request for an approval. */
  through<T>(verb: () => Promise<T>): Promise<T>
  /** The full decision of a route that loads nothing: about what the caller is about to write. Throws 401, 403. */
  decideRoute(fields: unknown): void
  /** What of the handler's answer may be seen: rows that are not permitted left out, masked fields null. */
  show(answer: unknown): Promise<unknown>
  /** Hands the last decision to the log. */
  conclude(): Promise<void>
}

/**
 * Authenticates the bearer and asks whether the route could be permitted to them at all, with the policies of the
 * revision that stood beside the session. Throws 401, 403 and 404; `conclude` is due in either case.
 */
export async function admit(deps: AdmitDeps, ctx: Context, route: Route, claims: Claims): Promise<Admission> {
  if (route.action === 'public') throw new Error('A public route has no caller')
  const { action } = route
  const bearer = await authenticate(deps, ctx, route, claims)
  const { requestInfo } = ctx.state
  const id = randomUUIDv7()
  Object.assign(ctx.state, { userId: bearer.userId, tenantId: bearer.tenantId, decisionId: id })
  const sliceOf = await slices(deps, bearer)
  const now = deps.clock()
  const { session } = bearer.auth
  const collection = collectionOf(route, bearer)
  const gate = callGate(deps.approvals, { ctx, route, bearer, decisionId: id, now })
  let last: { query: DecisionQuery; decision: Decision } | undefined

  const weigh = (phase: DecisionQuery['phase'], resource: Resource) => {
    const slice = sliceOf(resource.type, action, now)
    const [approval, othersCanApprove] = [gate.approvalFor(resource), gate.othersCanApprove()]
    const asked = { action, phase, bearer, requestInfo, resource, slice, now, approval, othersCanApprove }
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
    const due = stepUpDue(decision.obligations, session, now)
    if (due) throw lacking(due, decision)
    gate.arm()
  }
  const lacking = (due: StepUp, decision: Decision) =>
    due.possible ? stepUpRequired(due) : refuse('step_up_impossible', decision)
  const refuse = (code: Parameters<typeof deniedBecause>[0], decision: Decision, hint = '') => {
    const denied = deniedBecause(code, decision)
    traceDecision(ctx, 'resource', denied)
    if (last) last = { ...last, decision: denied }
    return refusal(denied, id, hint)
  }
  const conclude = async () => {
    if (!last) return
    const always = last.decision.effect !== 'allow' || changes(route)
    await deps.recordDecision({ id, ...last, always })
  }
  const permit: Caller['permit'] = (resource) => {
    ctx.state.undecided = false
    const whole = { ...collection, ownerId: null, ...resource }
    insist(ask('resource', whole), whole)
  }
  const may: Caller['may'] = (resource) =>
    weigh('resource', { ...collection, ownerId: null, ...resource }).decision.effect === 'allow'
  const viewOfRows = () => {
    if (!last) throw new Error('A list was shown before anything was decided')
    const { decision } = last
    const decide = (row: unknown) => weigh('resource', shown(row)).decision
    const refuseFor = (parameter: string) => refuse('masked_field', decision, ` Ask without ${parameter}.`)
    return rowView(decision, decide, refuseFor, session, now)
  }
  const admission: Admission = {
    caller: {
      ...bearer,
      requestInfo,
      decisionId: id,
      permit,
      may,
      viewOfRows,
      beforeCommit: gate.beforeCommit,
    },
    bind: gate.bind,
    through: (verb) => gate.through(verb, (decision) => refuse('no_eligible_approver', decision)),
    decideRoute(fields) {
      if (route.decides === 'resource' || !last) return
      const { provisional, effect } = last.decision
      const changes = { ...collection, fields: route.status === 201 ? fieldsOf(fields) : {} }
      if (!provisional && effect === 'allow') insist(last.decision, collection)
      // What is read is decided when it is known; of what is made, what is sent is all there is.
      else if (route.method !== 'GET') insist(ask('resource', changes), changes)
    },
    async show(answer) {
      if (answer instanceof DecidedPage) return answer.body
      if (!last) return answer
      if (isPage(answer)) return { ...answer, results: await seen(answer.results) }
      if (last.decision.provisional) insist(ask('resource', shown(answer)), shown(answer))
      const carried = carryOut(last.decision, session, now, answer)
      if ('due' in carried) throw lacking(carried.due, last.decision)
      return carried.shown
    },
    conclude,
  }
  const shown = (row: unknown) => resourceOf(action, collection, bearer.userId, row)
  const seen = async (rows: unknown[]) =>
    (await viewOfRows().visible(rows)).flatMap((visible) => (visible ? [visible.shown] : []))
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

async function slices(deps: DecideDeps, { auth, tenantId, userId }: Bearer) {
  if (!auth.tenant) return () => emptySlice(tenantId, 0)
  const loaded = deps.loadPolicies({ tenantId, userId }, auth.tenant.policyRevision)
  const policies = loaded instanceof Promise ? await loaded : loaded
  return policies.slice
}

// Asking is no change, whatever the method.
const asking: ReadonlySet<string> = new Set<ActionName>(['access:evaluate', 'policy:test'])
const changes = ({ method, action }: Route) => method !== 'GET' && !asking.has(action)

interface Page {
  results: unknown[]
}

const isPage = (answer: unknown): answer is Page => Array.isArray((answer as Partial<Page> | null)?.results)
