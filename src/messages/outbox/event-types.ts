import { z } from 'zod'

const id = z.uuid()
const person = z.strictObject({ user_id: id })
// Null in the events of a person who was erased since.
const personAndEmail = z.strictObject({ user_id: id, email: z.string().meta({ erasable: true }) })
const device = z.strictObject({ user_id: id, device_type: z.enum(['totp', 'email', 'static']) })
const ofApplication = z.strictObject({ client_id: z.string(), user_id: id })
const session = z.strictObject({ user_id: id, session_id: id })

const family = <const Noun extends string, const Verb extends string, Data extends z.ZodType>(
  noun: Noun,
  verbs: Verb[],
  data: Data,
) => Object.fromEntries(verbs.map((verb) => [`${noun}_${verb}`, data])) as Record<`${Noun}_${Verb}`, Data>

/**
 * Every event type and its `data`. `user_created`, `user_updated`, `email_verified` and `otp_device_confirmed` have
 * exactly the fields of the interface specification. The others carry no personal data, because the receiver of an
 * event can lack the permission to read more.
 */
export const eventTypes = {
  'identity.user_created': personAndEmail,
  'identity.user_updated': person,
  'identity.user_deleted': person,
  'identity.email_verified': personAndEmail,
  'identity.otp_device_confirmed': device,

  'identity.login_succeeded': session,
  'identity.login_failed': person,
  'identity.password_changed': person,
  'identity.session_revoked': session,
  'identity.session_compromised': session,
  'identity.otp_device_deleted': device,
  'identity.recovery_codes_generated': person,
  'identity.recovery_code_used': person,
  ...family(
    'identity.passkey',
    ['registered', 'renamed', 'deleted'],
    z.strictObject({ user_id: id, passkey_id: id }),
  ),
  ...family(
    'identity.identity',
    ['linked', 'unlinked'],
    z.strictObject({ user_id: id, identity_id: id, provider: z.string() }),
  ),
  ...family(
    'identity.api_key',
    ['created', 'rotated', 'revoked'],
    z.strictObject({ api_key_id: id, user_id: id.nullable(), service_account_id: id.nullable() }),
  ),

  ...family(
    'tenant.tenant',
    ['created', 'updated', 'suspended', 'activated', 'archived', 'deleted'],
    z.strictObject({ tenant_id: id }),
  ),
  'tenant.rules_updated': z.strictObject({ tenant_id: id, manifest_revision: z.int().positive() }),
  ...family(
    'tenant.member',
    ['added', 'updated', 'removed', 'sessions_ended', 'impersonated'],
    z.strictObject({ membership_id: id, user_id: id }),
  ),
  ...family(
    'tenant.service_account',
    ['created', 'updated', 'deleted'],
    z.strictObject({ service_account_id: id }),
  ),
  ...family('tenant.role', ['created', 'updated', 'deleted'], z.strictObject({ role_id: id })),
  ...family('tenant.department', ['created', 'updated', 'deleted'], z.strictObject({ department_id: id })),
  ...family(
    'tenant.invitation',
    ['created', 'resent', 'cancelled', 'accepted', 'expired'],
    z.strictObject({ invitation_id: id }),
  ),
  ...family(
    'tenant.connection',
    ['created', 'updated', 'deleted', 'activated'],
    z.strictObject({ connection_id: id }),
  ),
  ...family(
    'directory.user',
    ['created', 'updated', 'deleted'],
    z.strictObject({ directory_user_id: id, membership_id: id.nullable() }),
  ),
  ...family('directory.group', ['created', 'updated', 'deleted'], z.strictObject({ directory_group_id: id })),
  ...family(
    'directory.rule',
    ['created', 'deleted'],
    z.strictObject({ directory_rule_id: id, directory_group_id: id }),
  ),
  ...family('tenant.domain', ['verified', 'lost'], z.strictObject({ domain_id: id, domain: z.string() })),
  'tenant.mail_refused': z.strictObject({ mail_id: id, template: z.string() }),
  ...family(
    'application.client',
    ['created', 'updated', 'deleted', 'secret_created'],
    z.strictObject({ client_id: z.string() }),
  ),
  ...family(
    'application.resource',
    ['created', 'updated', 'deleted'],
    z.strictObject({ oauth_resource_id: id }),
  ),
  'application.consent_given': ofApplication,
  'application.grant_created': ofApplication,
  'application.grant_revoked': ofApplication,
  'application.token_replayed': ofApplication,
  'application.authorization_denied': ofApplication.extend({ decision_id: id }),
  ...family(
    'authorization.policy',
    ['created', 'updated', 'deleted', 'switched_off'],
    z.strictObject({ policy_id: id, version: z.int().positive() }),
  ),
  ...family(
    'authorization.attribute_definition',
    ['created', 'deleted'],
    z.strictObject({ attribute_definition_id: id }),
  ),
  ...family(
    'authorization.resource',
    ['created', 'updated', 'deleted'],
    z.strictObject({ registered_resource_id: id, resource_type: z.string(), resource_id: z.string() }),
  ),
  ...family(
    'authorization.approval',
    ['requested', 'approved', 'rejected', 'cancelled', 'expired', 'executed', 'failed'],
    z.strictObject({ approval_request_id: id }),
  ),
}

export type EventType = keyof typeof eventTypes
export type EventData<Type extends EventType> = z.input<(typeof eventTypes)[Type]>
