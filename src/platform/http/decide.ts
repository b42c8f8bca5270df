import type { ActionName } from '../access/actions.ts'
import type { Decision, Reason } from '../access/decision.ts'
import type { AccessEngine } from '../access/engine.ts'
import type { DecisionQuery, Resource, Subject } from '../access/query.ts'
import { reasonSentence } from '../access/reasons.ts'
import { emptySlice } from '../access/slice.ts'
import { ApiError, notFound, unauthorized } from '../errors.ts'
import type { Bearer } from './authenticate.ts'
import type { Origin } from './origin.ts'

export interface DecideDeps {
  access: AccessEngine
  clock: () => number
}

/** One question about an action; the id goes into the answer, the log and, for denials, to the caller. */
export interface Asked {
  action: ActionName
  phase: DecisionQuery['phase']
  bearer: Bearer
  origin: Origin
  decisionId: string
  resource: Resource
}

/** Decides; gives the decision when it is an allow, throws 401, 403 or 404 when it is not. */
export function decide(deps: DecideDeps, asked: Asked): Decision {
  const { bearer, origin, action, phase, resource } = asked
  const decision = deps.access.decide({
    requestId: origin.requestId,
    now: deps.clock(),
    phase,
    subject: subjectOf(bearer),
    tenant: bearer.standing.tenant,
    action,
    resource,
    environment: { ip: origin.ip, userAgent: origin.userAgent },
    slice: emptySlice(bearer.tenantId, bearer.standing.tenant?.policyRevision ?? 0),
  })
  if (decision.effect !== 'allow') throw refusal(decision, asked.decisionId)
  return decision
}

const subjectOf = ({ standing, userId, tenantId, sessionId, token }: Bearer): Subject => ({
  type: 'user',
  id: userId,
  email: standing.user.email,
  emailVerified: standing.user.emailVerified,
  tenantId,
  membership: standing.membership,
  session: {
    id: sessionId,
    acr: standing.session.acr,
    amr: standing.session.amr,
    authTime: standing.session.authTime,
    token,
  },
})

/** Reasons that are error codes of their own; any other denial is `permission_denied`. */
const namedRefusals: ReadonlySet<string> = new Set([
  'no_active_membership',
  'tenant_suspended',
  'tenant_archived',
])

function refusal(decision: Decision, decisionId: string): ApiError {
  const first = decision.reasons[0]
  if (first?.code === 'tenant_isolation') return notFound()
  if (first?.code === 'otp_required') return unauthorized('otp_required', reasonSentence('otp_required'))
  const code = first && namedRefusals.has(first.code) ? first.code : 'permission_denied'
  const detail = first ? reasonSentence(first.code) : 'You are not permitted to do this.'
  return new ApiError(403, code, detail, {
    members: { decision_id: decisionId, reasons: decision.reasons.map(told) },
  })
}

const told = ({ code, layer }: Reason) => ({ code, layer, message: reasonSentence(code) })
