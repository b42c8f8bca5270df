import type { TemplateName, Variables } from '../../../src/messages/mail/templates.ts'

const token = 'vQ7mY2pXr0kL9sNfT4uB8cD1eH6jA3wZ5gR0iO2qM7x'
const page = (name: string) => `https://id.acme.example/${name}?token=${token}`
const firstName = 'Ada'
const at = Date.UTC(2026, 10, 24, 15, 14, 38)
const tenantName = 'Nordwind Reederei'
const approval = `https://id.acme.example/console/approvals/019ad3c2-9f4e-7c1b-8a6d-2f0c5b7e1a34?organisation=019ad3c2`

/** One mail of each template, as the service writes it today. */
export const samples: { [Name in TemplateName]: Variables<Name> } = {
  email_verification: {
    link: page('verify-email'),
    reject: page('reject-email'),
    origin: { how: 'made', at },
    minutes: 4320,
  },
  address_already_registered: { link: page('reset-password'), minutes: 60 },
  invitation: {
    link: page('accept-invitation'),
    tenantName,
    inviter: 'Lena Okafor (lena@nordwind.example)',
    message: 'Welcome aboard! The shift plans are in there from Monday.',
    expiresAt: at + 7 * 86_400_000,
  },
  added_to_tenant: {
    tenantName,
    addedBy: 'Lena Okafor (lena@nordwind.example)',
    link: page('leave-tenant'),
  },
  magic_link: { link: page('log-in'), firstName, minutes: 15 },
  provider_sign_in: {
    link: page('sign-in/provider'),
    firstName,
    provider: 'Nordwind ID',
    account: 'Ada Lovelace, ada@nordwind.example',
    minutes: 60,
  },
  password_reset: { link: page('reset-password'), firstName, minutes: 60 },
  password_changed: { firstName, keysRevoked: true, passkeys: 1, keys: 2 },
  sessions_ended: { firstName, keysRevoked: false, passkeys: 2, keys: 1 },
  new_sign_in: { ip: '2001:db8:85a3::8a2e:370:7334', device: { browser: 'Firefox', system: 'Linux' }, at },
  second_factor_code: { code: '492817', firstName, minutes: 10 },
  second_factor_added: { device: 'totp', firstName },
  young_factor_added: { device: 'passkey', firstName, undo: page('undo-second-factor') },
  identity_linked: { firstName, provider: 'Nordwind ID', undo: page('undo-identity') },
  second_factors_locked: { minutes: 15 },
  second_factors_reset: { firstName },
  second_factor_removed: { device: 'email', firstName },
  identity_unlinked: { firstName, provider: 'Nordwind ID' },
  passkey_renamed: { before: 'Old laptop', after: 'Laptop', firstName },
  account_cleared: { firstName, hasPassword: false, byOperator: false, tenants: ['Trap', 'Firm'], others: 3 },
  password_cleared: { firstName },
  email_changed: { firstName, newEmail: 'ada@new.example', undo: page('undo-email-change') },
  email_change_rejected: { firstName, email: 'ada@new.example' },
  email_change_undone: {
    firstName,
    email: 'ada@old.example',
    newEmail: 'ada@new.example',
    tenants: [{ name: tenantName, slug: 'nordwind' }],
  },
  api_key_created: { keyName: 'Laptop', tenantName, firstName, ofAccount: true },
  api_key_leaked: { keyName: 'Laptop', tenantName, prefix: 'bwk_7Hq2', holder: 'ada@nordwind.example' },
  approval_requested: {
    requester: 'Ada Lovelace (ada@nordwind.example)',
    action: 'department:delete',
    object: 'Night shift',
    tenantName,
    link: approval,
    expiresAt: at + 86_400_000,
  },
  approval_decided: {
    kind: 'call',
    outcome: 'approved',
    action: 'department:delete',
    tenantName,
    link: approval,
  },
  domain_missing: {
    tenantName,
    domain: 'nordwind.example',
    record: '_bailiwick.nordwind.example TXT "bailiwick-verification=0f3c"',
    until: Date.UTC(2026, 10, 30, 9),
  },
  connection_certificate_ends: {
    tenantName,
    connection: 'Nordwind',
    endsAt: Date.UTC(2026, 11, 30, 9),
  },
  connection_activator_left: { tenantName, connection: 'Nordwind' },
  glass_broken: { tenantName, owner: 'ada@example.com', ip: '203.0.113.9', at: Date.UTC(2026, 10, 28, 9) },
  domain_lost: {
    tenantName,
    domain: 'nordwind.example',
    record: '_bailiwick.nordwind.example TXT "bailiwick-verification=0f3c"',
  },
  impersonated: {
    firstName,
    tenantName,
    actor: 'Lena Okafor (lena@nordwind.example)',
    reason: 'Ticket 4711: the shift plan does not open',
  },
}
