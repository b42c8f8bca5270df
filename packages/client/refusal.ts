import type { AccessDecision, ApprovalWay, Obligation, OpenApproval, Reason, StepUp } from './decide.ts'
import { isProblem, type Problem } from './problem.ts'

/** What a refusal says beside its code. */
interface Said {
  /** The decision in the log of the service. */
  decision_id?: string
  reasons?: readonly Reason[]
  /** Those of the decision, also of a denial. */
  obligations?: readonly Obligation[]
  /** Where to ask for the approval that is required. */
  approval?: ApprovalWay
  approval_request?: OpenApproval
}

/** The answer to a request that is not let in: a problem document (RFC 9457). */
export interface Refusal extends Said {
  status: 401 | 403 | 429 | 503
  /** For programs. */
  code: string
  headers: Record<string, string>
  /** The document as JSON, with the members above. */
  body: string
}

const titles = { 401: 'Not authenticated', 403: 'Forbidden', 429: 'Too many requests', 503: 'Unavailable' }

/** `said` are members of the document. */
export const refusalOf = (
  status: Refusal['status'],
  code: string,
  detail: string,
  said: Said & { reason?: string; acr_values?: string; max_age?: number } = {},
  headers: Record<string, string> = {},
): Refusal => ({
  ...said,
  status,
  code,
  headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...headers },
  body: JSON.stringify({
    type: `urn:bailiwick:error:${code}`,
    title: titles[status],
    status,
    code,
    detail,
    ...said,
  }),
})

/** 401 (RFC 6750 §3). `challenge`: what `WWW-Authenticate` says after the scheme. */
export const notAuthenticated = (code: string, detail: string, challenge = '', said = {}): Refusal =>
  refusalOf(401, code, detail, said, { 'www-authenticate': `Bearer${challenge && ` ${challenge}`}` })

export const unavailable = (detail: string, code = 'unavailable', retryAfter = 1): Refusal =>
  refusalOf(503, code, detail, {}, { 'retry-after': String(retryAfter) })

const noAnswer = 'Your request could not be checked, because the identity service did not answer. Try again.'
const notPermitted = 'You are not permitted to do this.'

/** What a failed call of the service means for the request: who is no longer logged in, and whom to ask to wait. */
export function refusalOfError(error: unknown): Refusal {
  if (!isProblem(error) || error.status >= 500) {
    const known = isProblem(error) && error.status === 503
    return known ? unavailable(error.message, error.code, error.retryAfter ?? 1) : unavailable(noAnswer)
  }
  if (error.status === 429)
    return refusalOf(429, error.code, error.message, {}, { 'retry-after': String(error.retryAfter ?? 1) })
  if (error.status === 401) return ofUnauthorized(error)
  // Any other answer is a mistake in the question, which is the application's.
  if (error.status !== 403) return refusalOf(403, 'permission_denied', notPermitted)
  return refusalOf(403, error.code, error.message, saidOf(error.members))
}

function ofUnauthorized({ code, message, members }: Problem): Refusal {
  const { acr_values, max_age } = members
  if (code !== 'insufficient_user_authentication')
    return notAuthenticated(code, message, 'error="invalid_token"')
  return stepUpRefusal(message, {
    acr_values: acr_values as StepUp['acr_values'],
    max_age: Number(max_age ?? NaN),
  })
}

const saidOf = ({ decision_id, reasons }: Problem['members']): Said => ({
  ...(typeof decision_id === 'string' && { decision_id }),
  ...(Array.isArray(reasons) && { reasons }),
})

/** What a decision that lets nothing happen means for the request. */
export function refusalOfDecision(decision: AccessDecision): Refusal {
  const { error, effect, decision_id, reasons, obligations, unmet, step_up } = decision
  const { approval, approval_request } = decision
  if (effect === null) return refusalOfError(error)
  const said: Said = { ...(decision_id !== null && { decision_id }), reasons, obligations }
  const asked = { ...(approval && { approval }), ...(approval_request && { approval_request }) }
  if (effect === 'require_approval')
    return refusalOf(403, 'approval_required', 'This needs an approval.', { ...said, ...asked })
  if (effect === 'deny') return refusalOf(403, 'permission_denied', reasons[0]?.message ?? notPermitted, said)
  if (step_up?.possible)
    return stepUpRefusal('This needs a stronger or a more recent sign-in.', step_up, said)
  if (unmet.length > 0)
    return refusalOf(
      403,
      'obligation_not_met',
      `A policy demands what cannot be done here: ${unmet.map(({ type }) => type).join(', ')}.`,
      said,
    )
  return refusalOf(403, 'approval_unused', 'An approval has to be used for this.', { ...said, ...asked })
}

/** 401 (RFC 9470 §3): how the caller has to authenticate, before they repeat the request. */
function stepUpRefusal(
  detail: string,
  { acr_values, max_age }: Pick<StepUp, 'acr_values' | 'max_age'>,
  said: Said = {},
): Refusal {
  const code = 'insufficient_user_authentication'
  const age = max_age === null || Number.isNaN(max_age) ? null : max_age
  const challenge = `error="${code}", acr_values="${acr_values}"${age === null ? '' : `, max_age="${age}"`}`
  return notAuthenticated(code, detail, challenge, {
    ...said,
    acr_values,
    ...(age !== null && { max_age: age }),
  })
}
