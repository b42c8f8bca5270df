/** The sentence of each reason code. Safe to show: no ids, no names of other people or tenants. */
const reasonSentences = {
  incomplete_input: 'The request lacks facts that the decision needs.',
  foreign_slice: 'The loaded policies are not those of this tenant.',
  otp_required: 'A second factor is required first.',
  key_not_allowed: 'An API key cannot do this. Sign in, and use the token.',
  impersonation_not_allowed: 'Who acts as another member cannot do this.',
  application_not_allowed: 'An application cannot do this for a person. The person does it in the service.',
  scope_missing: 'The scopes of this key or token do not include this.',
  no_active_membership: 'You are not an active member of this tenant.',
  ambiguous_subject: 'This name of the subject fits two members. Name the subject by id.',
  tenant_suspended: 'This tenant is suspended.',
  tenant_archived: 'This tenant is archived.',
  tenant_isolation: 'The object does not belong to this tenant.',
  not_found: 'This tenant has no such object.',
  unknown_action: 'Nothing names this action: check the spelling.',
  unknown_resource_type:
    'No policy in force, no role and no manifest names this type of resource: check the spelling.',
  platform_rule: 'A rule of this installation forbids this.',
  missing_permission: 'None of your roles permits this.',
  not_owner: 'Your roles permit this only on your own objects.',
  role_grant: 'One of your roles permits this.',
  own: 'This is about yourself or something of your own.',
  open_to_members: 'Every active member can ask for this.',
  policy_deny: 'A policy of the tenant forbids this.',
  policy_timeout: 'A policy of the tenant gave no answer in time, so this is denied.',
  policy_failed: 'A policy of the tenant failed, so this is denied.',
  policy_not_met: 'A policy of the tenant can permit this, but its conditions are not met.',
  policy_allow: 'A policy of the tenant permits this.',
  policy_gate: 'A policy of the tenant requires an approval first.',
  approval_granted: 'The approval that a policy requires was given.',
  no_eligible_approver: 'A policy requires an approval, but no member can give it.',
  masked_field: 'A policy of the tenant hides a field that this list is filtered or ordered by.',
  step_up_impossible: 'A policy requires a stronger or newer sign-in than this caller can have.',
} as const

export type ReasonCode = keyof typeof reasonSentences

/** Whether the service knows a reason code. To the engine, an unknown code is a failure of the module. */
export function isReasonCode(code: unknown): code is ReasonCode {
  return typeof code === 'string' && Object.hasOwn(reasonSentences, code)
}

/** The sentence for a reason code. */
export function reasonSentence(code: ReasonCode): string {
  return reasonSentences[code]
}

/** The sentences that name the action, which is the permission. */
const aboutPermissions: Partial<Record<ReasonCode, (permission: string) => string>> = {
  scope_missing: (permission) => `The scopes of this key or token do not include ${permission}.`,
  not_owner: (permission) =>
    `Your roles permit this only on your own objects. On others, or on all at once, it takes the permission ${permission}.`,
  missing_permission: (permission) => `None of your roles has the permission ${permission}.`,
  unknown_action: (action) =>
    `No policy in force, no role and no manifest names ${action}: check the spelling.`,
}

/** The sentences that a reader who is not the subject gets in place of those with "you". */
const aboutOthers: Partial<Record<ReasonCode, (permission: string) => string>> = {
  missing_permission: (permission) => `None of the subject's roles has the permission ${permission}.`,
  not_owner: () => "The subject's roles permit this only on their own objects.",
  no_active_membership: () => 'The subject is not an active member of this tenant.',
  role_grant: () => "One of the subject's roles permits this.",
  own: () => 'This is about the subject or something of their own.',
}

/** The sentence for a reason of a decision about `action`: its own, if a rule of the installation gives one. */
export const sentenceOf = (
  { code, message }: { code: ReasonCode; message?: string },
  action: string,
  isAboutReader = true,
): string =>
  message ??
  (isAboutReader ? undefined : aboutOthers[code]?.(action)) ??
  aboutPermissions[code]?.(action) ??
  reasonSentences[code]
