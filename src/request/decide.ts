import type { Tx } from '../database/executor/transaction.ts'
import { traceDecision } from '../http/trace-requests.ts'
import type { ActionName } from '../policy-engine/catalogue/actions.ts'
import { emptySlice } from '../policy-engine/compile/slice.ts'
import type { Decision } from '../policy-engine/evaluate/decision.ts'
import {
  type Asker,
  type DecisionQuery,
  type GrantedApproval,
  isOwnerRecovery,
  type Resource,
  type SessionFacts,
  type Subject,
} from '../policy-engine/evaluate/query.ts'
import { refusal } from './answer/refusal.ts'
import type { Caller, ResourceOf } from './caller.ts'
import { withoutPassword } from './guarded-call.ts'
import type { PathDeps, RequestContext } from './request-context.ts'
import { collectionOf, fieldsOf, resourceOf } from './route-resources.ts'

/** What approvals add to a query. */
interface Granted {
  approval?: GrantedApproval | null
  othersCanApprove?: boolean
}

type EngineDeps = Pick<PathDeps, 'access'>

/** Decides whether the caller could use the route at all, and read anything that it shows. Throws 401, 403 and 404. */
export function decideRoute(deps: EngineDeps, request: RequestContext): void {
  for (const one of decidersOf(request)) {
    const decision = decide(deps, one, 'route', collectionOf(one.route, one.caller))
    // A required approval is handled later, when the resource and the body are known.
    if (decision.effect !== 'deny') continue
    request.decided = one.decided
    const hint = one === request ? '' : ` What this shows also needs ${one.route.action}.`
    throw refusal(decision, one.route.action, request.caller.decisionId, hint)
  }
}

/** The request, and the request with the action that reads what is shown, if that is another one. */
export const decidersOf = (request: RequestContext): readonly RequestContext[] =>
  request.reading ? [request, request.reading] : [request]

/** Decides the request's action on a resource. The decision becomes that of the request. */
export function decide(
  deps: EngineDeps,
  request: RequestContext,
  phase: DecisionQuery['phase'],
  resource: Resource,
  granted: Granted = {},
): Decision {
  request.decided = evaluate(deps, request, phase, resource, granted)
  traceDecision(request.http, phase, request.decided.decision)
  return request.decided.decision
}

/** As {@link decide}, for one of several resources: the decision does not become that of the request. */
export function evaluate(
  deps: EngineDeps,
  { caller, route, policies, now }: RequestContext,
  phase: DecisionQuery['phase'],
  resource: Resource,
  { approval = null, othersCanApprove = true }: Granted = {},
): { query: DecisionQuery; decision: Decision } {
  const { requestInfo, auth } = caller
  const query: DecisionQuery = {
    action: route.action,
    phase,
    resource,
    now,
    approval,
    othersCanApprove,
    slice: policies?.slice(resource.type, route.action, now) ?? emptySlice(caller.tenantId, 0),
    requestId: requestInfo.requestId,
    subject: subjectOf(caller),
    tenant: auth.tenant,
    environment: { ip: requestInfo.ip, userAgent: requestInfo.userAgent },
  }
  return { query, decision: decideOrRecover(deps, query) }
}

/** Whether a policy or a rule denies the caller an action that their roles, or the scopes of their key, need not permit. */
export function deniedByPolicy(
  deps: EngineDeps,
  request: RequestContext,
  action: ActionName,
  resource: ResourceOf,
): boolean {
  const caller = { ...request.caller, auth: { ...request.caller.auth, scopes: null } }
  const asked = { ...request, caller, route: { ...request.route, action } }
  return isDeniedByPolicy(evaluate(deps, asked, 'resource', resourceIn(asked, resource)).decision)
}

/** Whether a policy or a rule denies, and not only that no role permits. */
export const isDeniedByPolicy = ({ effect, reasons }: Decision): boolean =>
  effect === 'deny' && reasons.some(({ code, layer }) => layer !== 'rbac' && code !== 'policy_not_met')

// When a tenant's policies cannot be evaluated, an owner who reads or changes policies is decided without them, so that
// the owner can repair them. All other requests fail.
function decideOrRecover({ access }: EngineDeps, query: DecisionQuery): Decision {
  const { action, subject, slice } = query
  try {
    return access.decide(query)
  } catch (error) {
    if (!isOwnerRecovery(action, subject.membership)) throw error
    return access.decide({ ...query, slice: emptySlice(subject.tenantId, slice.revision) })
  }
}

const subjectOf = (caller: Caller): Subject => ({
  type: caller.auth.user.type,
  id: caller.userId,
  email: caller.auth.user.email,
  emailVerified: caller.auth.user.emailVerified,
  tenantId: caller.tenantId,
  membership: caller.auth.membership,
  session: sessionFacts(caller),
})

/** Who pays for questions of the caller: who acts, and not in whose name. */
export const askerIn = ({ auth, userId, impersonatorId }: Caller): Asker =>
  impersonatorId ? { type: 'user', id: impersonatorId } : { type: auth.user.type, id: userId }

/** The caller's session as decisions see it. */
export const sessionFacts = ({
  auth: { session, scopes, impersonator },
  sessionId,
  token,
}: Caller): SessionFacts => ({
  id: sessionId,
  acr: session.acr,
  amr: session.amr,
  authTime: session.authTime,
  token,
  ...(scopes && { scopes }),
  ...(impersonator && { actor: impersonator }),
})

/** A route's resource, completed with the defaults of the request. */
export const resourceIn = (request: RequestContext, resource: ResourceOf): Resource => ({
  ...collectionOf(request.route, request.caller),
  ownerId: null,
  ...resource,
})

/** The resource that a request will create: it has only the fields that were sent. */
export const sentResource = (request: RequestContext, body: unknown): Resource => ({
  ...collectionOf(request.route, request.caller),
  fields: request.route.status === 201 ? fieldsOf(withoutPassword(body)) : {},
})

/** An object, or a row of a list, as policies see it. */
export const shownResource = (request: RequestContext, row: unknown): Resource =>
  resourceOf(request.route.action, collectionOf(request.route, request.caller), request.caller.userId, row)

/** Passes the request's last decision to the decision log. Never rejects. */
export async function logDecision(deps: PathDeps, request: RequestContext): Promise<void> {
  const { decided, route, caller, isLogged } = request
  if (!decided || isLogged) return
  const isRefused = decided.decision.effect !== 'allow'
  const whenAllowed = questions.has(route.action) ? 'never' : route.method === 'GET' ? 'sampled' : 'always'
  const keep = isRefused ? 'always' : whenAllowed
  await deps.decisionLog.record({ id: caller.decisionId, ...decided, kind: 'request', keep })
}

/** Logs the decision that permits a change in the change's transaction; false if it has to be logged afterwards. */
export function logWithChange(tx: Tx, deps: PathDeps, { decided, caller }: RequestContext): boolean {
  if (!decided) return false
  const record = { id: caller.decisionId, ...decided, kind: 'request', keep: 'always' } as const
  return deps.decisionLog.recordIn(tx, record) !== null
}

// These actions do nothing but ask: what was asked is in the log, or nothing is.
const questions: ReadonlySet<ActionName> = new Set(['access:evaluate', 'policy:test'])
