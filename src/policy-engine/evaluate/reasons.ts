/** What each reason code says to a person. Safe to show: no ids, no names of other people or tenants. */
export const reasonSentences = {
  incomplete_input: 'The request did not carry everything a decision needs.',
  foreign_slice: 'The policies at hand are not those of this tenant.',
  otp_required: 'A second factor has to be shown first.',
  no_active_membership: 'You are not an active member of this tenant.',
  tenant_suspended: 'This tenant is suspended.',
  tenant_archived: 'This tenant is archived.',
  tenant_isolation: 'The object does not belong to this tenant.',
  not_found: 'This tenant has no such object.',
  missing_permission: 'None of your roles permits this.',
  not_owner: 'Your roles permit this about your own objects only.',
  role_grant: 'One of your roles permits this.',
  own: 'This is about yourself or something of your own.',
  open_to_members: 'Every active member may ask for this.',
  policy_deny: 'A policy of the tenant forbids this.',
  policy_allow: 'A policy of the tenant permits this.',
  policy_gate: 'A policy of the tenant asks for an approval first.',
  approval_granted: 'The approval that a policy asks for was given.',
  no_eligible_approver: 'A policy asks for an approval, and nobody here can give it.',
  masked_field: 'A policy of the tenant hides the field by which this list would be filtered or ordered.',
  step_up_impossible: 'A policy asks for a stronger or newer sign-in than this caller can ever show.',
} as const

export type ReasonCode = keyof typeof reasonSentences

/** Whether a code is one the service knows; the engine treats any other as its own failure. */
export function isReasonCode(code: unknown): code is ReasonCode {
  return typeof code === 'string' && Object.hasOwn(reasonSentences, code)
}

/** The sentence for a reason code. */
export function reasonSentence(code: ReasonCode): string {
  return reasonSentences[code]
}
