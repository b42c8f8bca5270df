import { boolean, count, days, setting, wholeNumber } from './forms.ts'

const strangers = wholeNumber(1, 10_000)
const quota = (most: number, fallback: number, what: string) =>
  setting(wholeNumber(0, most), fallback, `${what} that a tenant can have`)

/** Settings of rate limits. */
export const rateLimits = {
  RATE_LIMIT_ENABLED: setting(boolean, undefined, 'Rate limits; attempt counters are always on', {
    shown: 'true in production',
  }),
  RATE_LIMIT_LOGIN_PER_ACCOUNT: setting(count, 5, 'Failed logins a minute for an account from one address'),
  RATE_LIMIT_LOGIN_PER_ADDRESS: setting(
    count,
    20,
    'Failed logins a minute from one address; and apart from them, requests with unknown tokens of applications',
  ),
  RATE_LIMIT_SIGN_INS_PER_ACCOUNT: setting(count, 30, 'Sign-ins a minute of one account, in whatever way'),
  RATE_LIMIT_MAIL_PER_MINUTE: setting(
    count,
    3,
    'Mails a minute to one address for one purpose, such as codes',
  ),
  RATE_LIMIT_MAIL_PER_HOUR: setting(
    count,
    10,
    'Mails an hour to one address, for each purpose; invitations: from one tenant, person or address of callers',
  ),
  RATE_LIMIT_ANONYMOUS_MAIL_PER_ADDRESS: setting(
    count,
    60,
    'Resets and links to sign in that one address of callers can ask for an hour, for all accounts together',
  ),
  RATE_LIMIT_INVITATION_MAIL_PER_HOUR: setting(
    count,
    50,
    'Invitations and additions to a tenant an hour that are mailed to one address, by all tenants together',
  ),
  RATE_LIMIT_STRANGERS_PER_PERSON: setting(
    strangers,
    50,
    'Different addresses a day to which one user causes mail: invitations, added members, and own new addresses',
  ),
  RATE_LIMIT_STRANGERS_PER_TENANT: setting(strangers, 500, 'The same for one tenant'),
  RATE_LIMIT_STRANGERS_PER_ADDRESS: setting(strangers, 500, 'The same for one address of callers'),
  RATE_LIMIT_APPROVAL_MAILS_PER_HOUR: setting(
    count,
    10,
    'Mails an hour to one approver about approval requests of one subject; further requests send no mail',
  ),
  RATE_LIMIT_REGISTER_PER_HOUR: setting(count, 10, 'Registrations an hour from one address'),
  RATE_LIMIT_REFRESH_PER_SESSION: setting(count, 60, 'Refreshes a minute of one session'),
  RATE_LIMIT_OAUTH_PER_CLIENT: setting(
    count,
    600,
    'Uses of codes and tokens a minute by one OpenID Connect client',
  ),
  RATE_LIMIT_SCIM_PER_TENANT: setting(
    count,
    6_000,
    'Requests a minute by the directories of one tenant (SCIM)',
  ),
  RATE_LIMIT_OAUTH_PER_ADDRESS: setting(
    count,
    300,
    'Sign-ins to applications (OpenID Connect) a minute begun from one address',
  ),
  RATE_LIMIT_USER_CODES_PER_ADDRESS: setting(count, 5, 'Wrong codes of devices a minute from one address'),
  RATE_LIMIT_PASSKEY_PER_ADDRESS: setting(count, 120, 'Sign-ins by passkey a minute begun from one address'),
  RATE_LIMIT_KEY_REVOKE_PER_ADDRESS: setting(
    count,
    60,
    'Reports of leaked API keys a minute from one address',
  ),
  RATE_LIMIT_PER_USER: setting(count, 600, 'Calls a minute of one user or service account'),
  RATE_LIMIT_PER_TENANT: setting(count, 6_000, 'Calls a minute of one tenant'),
}

/** Settings of quotas. */
export const quotas = {
  LIMIT_CUSTOM_ROLES: quota(10_000, 100, 'Custom roles'),
  LIMIT_PENDING_INVITATIONS: quota(1_000_000, 1_000, 'Pending invitations'),
  LIMIT_SERVICE_ACCOUNTS: quota(1_000, 100, 'Service accounts'),
  LIMIT_DEPARTMENTS: quota(100_000, 1_000, 'Departments'),
  LIMIT_POLICY_MODULES: setting(
    wholeNumber(0, 100),
    20,
    'Policies of the kind `rego` that a tenant can have; with 0, tenants cannot write new modules',
  ),
  LIMIT_DECISION_MS_PER_REQUEST: setting(
    wholeNumber(1, 60_000),
    1_000,
    'Milliseconds of processor time that the decisions of one request can take (rows of a list, cases of a test); beyond that, 503 `too_costly`',
  ),
  LIMIT_DECISION_MS_PER_SECOND: setting(
    wholeNumber(1, 1_000),
    500,
    'Milliseconds of processor time that a process spends each second on decisions for one tenant, one person of it three quarters at most, and for one person over all their tenants; beyond that, 503 `too_costly`',
  ),
  LIMIT_RESOURCES: quota(10_000_000, 100_000, 'Resources of applications'),
  LIMIT_WEBHOOKS: quota(1_000, 20, 'Webhooks'),
  LIMIT_TENANTS_PER_PERSON: setting(
    wholeNumber(0, 1_000_000),
    20,
    'Tenants that a user can create; deleted ones count until they are erased',
  ),
  LIMIT_POLICY_VERSIONS: setting(wholeNumber(1, 1_000_000), 200, 'Newest versions of a policy that are kept'),
  LIMIT_DELIVERIES_PER_DAY: setting(
    wholeNumber(1, 1_000_000_000),
    100_000,
    'Webhook deliveries a day (UTC) for a tenant; further events are in the feed only',
  ),
  LIMIT_LOG_MB_PER_DAY: setting(
    wholeNumber(1, 1_000_000),
    256,
    'Megabytes that the changes of a day (UTC) can add to the versions, audit log, events and approval requests of a tenant, and one person a tenth of it; beyond that, 429 `quota_exceeded`',
  ),
  LIMIT_DECISIONS_PER_DAY: setting(
    wholeNumber(1, 1_000_000_000),
    100_000,
    'Decisions logged a day (UTC) for a tenant: from 60 % no allowed reads, from 80 % one in a hundred of the questions of applications, then of the rest; for one subject, a tenth',
  ),
  LIMIT_BODIES_MIB: setting(
    wholeNumber(16, 4_096),
    64,
    'MiB of request bodies above 16 KiB that a process holds at a time, of one tenant a quarter; beyond that, 503 `overloaded`',
  ),
  LIMIT_DECISION_FACTS_BYTES: setting(
    wholeNumber(256, 16_384),
    2_048,
    'Bytes of facts kept for a logged question',
  ),
}

/** Settings of retention. */
export const retention = {
  WEBHOOK_DELIVERY_RETENTION_DAYS: setting(days, 30, 'How long finished deliveries can be read and replayed'),
  DECISION_RETENTION_DAYS: setting(days, 90, 'How long decisions can be read, explained and tried again'),
  EVENT_RETENTION_DAYS: setting(days, 90, 'How long events are kept in the feed'),
  AUDIT_RETENTION_DAYS: setting(days, 400, 'How long rows of the audit log are kept'),
  APPROVAL_BODY_RETENTION_DAYS: setting(
    days,
    30,
    'How long the body of a call that needed an approval, or what policies read of a question that did, is kept after its approval request ended',
  ),
  APPROVAL_RETENTION_DAYS: setting(days, 400, 'How long an approval request is kept after it ended'),
  DELETED_POLICY_RETENTION_DAYS: setting(days, 90, 'How long a deleted policy is kept, to explain decisions'),
  DEAD_LETTER_RETENTION_DAYS: setting(days, 90, 'How long messages that were given up are kept'),
  MAIL_RETENTION_DAYS: setting(days, 30, 'How long the record of a sent or failed mail is kept'),
  SIGN_IN_PLACE_RETENTION_DAYS: setting(
    days,
    180,
    'How long a known place of sign-ins is kept after its last use',
  ),
}
