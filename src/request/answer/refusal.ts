import { ApiError, notFound, unauthorized } from '../../errors.ts'
import type { Decision, Matched, Reason } from '../../policy-engine/evaluate/decision.ts'
import { reasonSentence, sentenceOf } from '../../policy-engine/evaluate/reasons.ts'

/** Reasons that are also error codes. Any other denial is `permission_denied`. */
const namedRefusals: ReadonlySet<string> = new Set([
  'key_not_allowed',
  'impersonation_not_allowed',
  'application_not_allowed',
  'no_active_membership',
  'tenant_suspended',
  'tenant_archived',
])

/** The error for a denial of `action`: 401, 403, or 404 for another tenant's object. `hint` says what to do. */
export function refusal(decision: Decision, action: string, decisionId: string, hint = ''): ApiError {
  const { reasons } = decision
  const first = reasons[0]
  if (first?.code === 'tenant_isolation') return notFound()
  if (first?.code === 'otp_required') return unauthorized('otp_required', reasonSentence('otp_required'))
  const code = first && namedRefusals.has(first.code) ? first.code : 'permission_denied'
  const detail = first ? sentenceOf(first, action) : 'You are not permitted to do this.'
  // RFC 6750 §3.1
  const challenge = first?.code === 'scope_missing' && `Bearer error="insufficient_scope", scope="${action}"`
  return new ApiError(403, code, detail + hint, {
    members: whyRefused(decision, action, decisionId),
    ...(challenge && { headers: { 'WWW-Authenticate': challenge } }),
  })
}

/** The decision and its reasons, as members of a refusal. */
export const whyRefused = ({ reasons }: Decision, action: string, decisionId: string) => ({
  decision_id: decisionId,
  reasons: reasons.map((reason) => toJsonReason(reason, action)),
})

/** The decision as a denial, because the call does not meet the condition that `code` names. */
export const deniedBecause = (
  code: 'no_eligible_approver' | 'step_up_impossible' | 'masked_field' | 'impersonation_not_allowed',
  decision: Decision,
): Decision => ({
  ...decision,
  effect: 'deny',
  approval: null,
  reasons: [{ code, layer: 'policy' }, ...decision.reasons],
})

/** A reason of a decision about `action`, as callers read it. */
export const toJsonReason = (
  { code, layer, policy_id, rule, message }: Reason,
  action: string,
  isAboutReader = true,
) => ({
  code,
  layer,
  message: sentenceOf({ code, message }, action, isAboutReader),
  ...(policy_id && { policy_id }),
  ...(rule && { rule }),
})

/** A policy that matched, as callers read it. */
export const toJsonMatched = ({ policy_id, version, name, effect }: Matched) => ({
  policy_id,
  version,
  name,
  effect,
})
