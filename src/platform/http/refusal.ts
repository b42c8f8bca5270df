import type { Decision, Matched, Reason } from '../../policy-engine/evaluate/decision.ts'
import { reasonSentence, sentenceOf } from '../../policy-engine/evaluate/reasons.ts'
import { ApiError, notFound, unauthorized } from '../errors.ts'

/** Reasons that are also error codes. Any other denial is `permission_denied`. */
const namedRefusals: ReadonlySet<string> = new Set([
  'key_not_allowed',
  'impersonation_not_allowed',
  'no_active_membership',
  'tenant_suspended',
  'tenant_archived',
])

/** The error for a denial: 401, 403, or 404 for another tenant's object. `hint` says what to do. */
export function refusal(decision: Decision, decisionId: string, hint = ''): ApiError {
  const { reasons } = decision
  const first = reasons[0]
  if (first?.code === 'tenant_isolation') return notFound()
  if (first?.code === 'otp_required') return unauthorized('otp_required', reasonSentence('otp_required'))
  const code = first && namedRefusals.has(first.code) ? first.code : 'permission_denied'
  const detail = first ? sentenceOf(first) : 'You are not permitted to do this.'
  return new ApiError(403, code, detail + hint, {
    members: {
      decision_id: decisionId,
      reasons: reasons.map(toJsonReason),
    },
  })
}

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

/** A reason as callers read it. */
export const toJsonReason = ({ code, layer, policy_id, rule, message }: Reason) => ({
  code,
  layer,
  message: sentenceOf({ code, message }),
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
