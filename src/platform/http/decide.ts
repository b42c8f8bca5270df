import type { ActionName } from '../access/actions.ts'
import type { Slice } from '../access/compiled-policy.ts'
import type { Decision, Matched, Reason } from '../access/decision.ts'
import type { AccessEngine } from '../access/engine.ts'
import type { AnyQuery, DecisionQuery, GrantedApproval, Resource, Subject } from '../access/query.ts'
import { reasonSentence } from '../access/reasons.ts'
import { ApiError, notFound, unauthorized } from '../errors.ts'
import type { Approvals } from './approval-gate.ts'
import type { Bearer } from './authenticate.ts'
import type { RequestInfo } from './request-info.ts'

/** A tenant's policies at one revision. */
export interface PoliciesInForce {
  readonly tenantId: string
  readonly revision: number
  /** Those that an action on a type of resource can meet at `now` (ms). */
  slice(resourceType: string, action: string, now: number): Slice
}

/** Gives a tenant's policies at the revision that its standing names; at once where they are in memory. */
export type LoadPolicies = (
  scope: { tenantId: string; userId: string },
  revision: number,
) => PoliciesInForce | Promise<PoliciesInForce>

/** A decision on its way to the log. */
export interface DecisionRecord {
  id: string
  query: AnyQuery
  decision: Decision
  /** Changes, denials and gates are always kept, allowed reads as a sample. */
  always: boolean
}

/** Keeps a decision; resolved once it is kept where it has to be. Never rejects: an answer does not wait for ever. */
export type RecordDecision = (record: DecisionRecord) => Promise<void>

export interface DecideDeps {
  access: AccessEngine
  clock: () => number
  loadPolicies: LoadPolicies
  recordDecision: RecordDecision
  approvals: Approvals
}

/** One question about an action; the id goes into the answer, the log and, for denials, to the caller. */
export interface Asked {
  action: ActionName
  phase: DecisionQuery['phase']
  bearer: Bearer
  requestInfo: RequestInfo
  resource: Resource
  slice: Slice
  approval: GrantedApproval | null
  othersCanApprove: boolean
  now: number
}

/** The question as the engine takes it. */
export const queryOf = ({ bearer, requestInfo, ...asked }: Asked): DecisionQuery => ({
  ...asked,
  requestId: requestInfo.requestId,
  subject: subjectOf(bearer),
  tenant: bearer.auth.tenant,
  environment: { ip: requestInfo.ip, userAgent: requestInfo.userAgent },
})

const subjectOf = ({ auth, userId, tenantId, sessionId, token }: Bearer): Subject => ({
  type: 'user',
  id: userId,
  email: auth.user.email,
  emailVerified: auth.user.emailVerified,
  tenantId,
  membership: auth.membership,
  session: {
    id: sessionId,
    acr: auth.session.acr,
    amr: auth.session.amr,
    authTime: auth.session.authTime,
    token,
  },
})

/** Reasons that are error codes of their own; any other denial is `permission_denied`. */
const namedRefusals: ReadonlySet<string> = new Set([
  'no_active_membership',
  'tenant_suspended',
  'tenant_archived',
])

/** What a caller is told who is not permitted: 401, 403, or 404 for what is another tenant's; `hint`: what to do. */
export function refusal(decision: Decision, decisionId: string, hint = ''): ApiError {
  const { reasons } = decision
  const first = reasons[0]
  if (first?.code === 'tenant_isolation') return notFound()
  if (first?.code === 'otp_required') return unauthorized('otp_required', reasonSentence('otp_required'))
  const code = first && namedRefusals.has(first.code) ? first.code : 'permission_denied'
  const detail = first ? reasonSentence(first.code) : 'You are not permitted to do this.'
  return new ApiError(403, code, detail + hint, {
    members: {
      decision_id: decisionId,
      reasons: reasons.map(tell),
    },
  })
}

/** A decision whose demand this call does not meet: a denial that says which one. */
export const deniedBecause = (
  code: 'no_eligible_approver' | 'step_up_impossible' | 'masked_field',
  decision: Decision,
): Decision => ({
  ...decision,
  effect: 'deny',
  approval: null,
  reasons: [{ code, layer: 'policy' }, ...decision.reasons],
})

/** A reason as callers read it. */
export const tell = ({ code, layer, policy_id }: Reason) => ({
  code,
  layer,
  message: reasonSentence(code),
  ...(policy_id && { policy_id }),
})

/** A policy that had a say, as callers read it. */
export const tellMatched = ({ policy_id, version, name, effect }: Matched) => ({
  policy_id,
  version,
  name,
  effect,
})
