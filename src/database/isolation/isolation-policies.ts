// All allowed exceptions from the isolation rules. A migration that widens access must change this file, so that a
// review shows it. One line each, sorted.

/** The rows of the tenant that a transaction purges: src/tenancy/tenants/store.ts sets it for a deleted tenant only. */
const ofPurgedTenant = `(tenant_id = (NULLIF(current_setting('app.purged_tenant_id'::text, true), ''::text))::uuid)`

/**
 * All policies except the three forms that need no line: the tenant form or the user form of bailiwick_api, at most one
 * per table, and owner_all, exactly one per table (without it, an owner's backfill silently changes nothing).
 * A line is `table policy: command to role using expression check expression`, as pg_get_expr prints the expressions.
 */
export const frozenPolicies = [
  "approval_requests worker_expires: all to bailiwick_worker using (status = ANY (ARRAY['pending'::text, 'approved'::text, 'expired'::text])) check (status = 'expired'::text)",
  'account_attempts system_all: all to bailiwick_system using true check true',
  'api_keys system_all: all to bailiwick_system using true check true',
  'api_keys worker_expires: all to bailiwick_worker using (LEAST(revoked_at, expires_at) <= now())',
  `api_keys worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'application_tokens system_all: all to bailiwick_system using true check true',
  "approval_requests worker_deletes: delete to bailiwick_worker using (status <> ALL (ARRAY['pending'::text, 'approved'::text]))",
  'approval_requests worker_erases: update to bailiwick_worker using true check true',
  `approval_requests worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'approval_requests worker_reads: select to bailiwick_worker using true',
  'approval_votes worker_erases: update to bailiwick_worker using true check true',
  `approval_votes worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'approval_votes worker_reads: select to bailiwick_worker using true',
  `attribute_definitions worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'audit_log system_inserts: insert to bailiwick_system check true',
  'audit_log worker_all: all to bailiwick_worker using true check true',
  'captured_mails system_reads: select to bailiwick_system using true',
  'captured_mails worker_all: all to bailiwick_worker using true check true',
  'browser_sessions system_all: all to bailiwick_system using true check true',
  'browser_sessions worker_expires: all to bailiwick_worker using (expires_at <= now())',
  'daily_counts system_all: all to bailiwick_system using true check true',
  'daily_counts worker_all: all to bailiwick_worker using true check true',
  'dead_letters worker_all: all to bailiwick_worker using true check true',
  'decisions system_inserts: insert to bailiwick_system check true',
  'decisions worker_all: all to bailiwick_worker using true check true',
  `departments worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  `domains worker_purges: delete to bailiwick_worker using ${ofPurgedTenant}`,
  'domains system_reads: select to bailiwick_system using true',
  'domains worker_reads: select to bailiwick_worker using true',
  'erasures system_inserts: insert to bailiwick_system check true',
  'erasures worker_all: all to bailiwick_worker using true check true',
  'event_sequences system_feeds: all to bailiwick_system using true check true',
  'event_sequences worker_all: all to bailiwick_worker using true check true',
  'events system_inserts: insert to bailiwick_system check true',
  'events worker_all: all to bailiwick_worker using true check true',
  'feed_entries system_all: all to bailiwick_system using true check true',
  'feed_entries worker_all: all to bailiwick_worker using true check true',
  'former_addresses system_all: all to bailiwick_system using true check true',
  'idempotency_keys worker_all: all to bailiwick_worker using true check true',
  'id_token_keys system_all: all to bailiwick_system using true check true',
  'installation system_all: all to bailiwick_system using true check true',
  'invitations system_erases: delete to bailiwick_system using true',
  'invitations system_reads: select to bailiwick_system using true',
  'invitations worker_all: all to bailiwick_worker using true check true',
  `link_tokens leave_links: insert to bailiwick_api check ((purpose = 'tenant_leave'::text) AND (tenant_id = (NULLIF(current_setting('app.tenant_id'::text, true), ''::text))::uuid))`,
  'link_tokens system_all: all to bailiwick_system using true check true',
  'link_tokens worker_expires: all to bailiwick_worker using (expires_at <= now())',
  `link_tokens worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'log_counts system_all: all to bailiwick_system using true check true',
  'log_counts worker_all: all to bailiwick_worker using true check true',
  'login_attempts system_all: all to bailiwick_system using true check true',
  'made_tenants worker_all: all to bailiwick_worker using true check true',
  'mail_senders system_all: all to bailiwick_system using true check true',
  'mails system_inserts: insert to bailiwick_system check true',
  'mails worker_all: all to bailiwick_worker using true check true',
  `manifest_client_secrets every_tenant_reads: select to bailiwick_api using (NULLIF(current_setting('app.tenant_id'::text, true), ''::text) IS NOT NULL)`,
  'manifest_client_secrets system_all: all to bailiwick_system using true check true',
  `manifest_clients every_tenant_reads: select to bailiwick_api using (NULLIF(current_setting('app.tenant_id'::text, true), ''::text) IS NOT NULL)`,
  'manifest_clients system_all: all to bailiwick_system using true check true',
  'manifest_webhooks system_all: all to bailiwick_system using true check true',
  'manifest_webhooks worker_reads: select to bailiwick_worker using true',
  `manifests every_tenant_reads: select to bailiwick_api using (NULLIF(current_setting('app.tenant_id'::text, true), ''::text) IS NOT NULL)`,
  'manifests system_all: all to bailiwick_system using true check true',
  'membership_roles system_reads: select to bailiwick_system using true',
  `membership_roles worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'memberships system_all: all to bailiwick_system using true check true',
  `memberships worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'notice_windows worker_all: all to bailiwick_worker using true check true',
  'oauth_client_secrets system_notes_use: update to bailiwick_system using true check true',
  'oauth_client_secrets system_reads: select to bailiwick_system using true',
  `oauth_client_secrets worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'oauth_clients system_notes_use: update to bailiwick_system using true check true',
  'oauth_clients system_reads: select to bailiwick_system using true',
  `oauth_clients worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'oauth_logouts system_inserts: insert to bailiwick_system check true',
  'oauth_logouts worker_all: all to bailiwick_worker using true check true',
  'oauth_models system_all: all to bailiwick_system using true check true',
  `oauth_models tenant_ends: delete to bailiwick_api using ((tenant_id = (NULLIF(current_setting('app.tenant_id'::text, true), ''::text))::uuid) AND (kind <> ALL (ARRAY['Consent'::text, 'Interaction'::text])))`,
  `oauth_models tenant_finds: select to bailiwick_api using ((tenant_id = (NULLIF(current_setting('app.tenant_id'::text, true), ''::text))::uuid) AND (kind <> ALL (ARRAY['Consent'::text, 'Interaction'::text])))`,
  'oauth_models worker_expires: all to bailiwick_worker using (expires_at <= now())',
  `oauth_models worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  `oauth_resources worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'otp_attempts system_all: all to bailiwick_system using true check true',
  'otp_attempts worker_all: all to bailiwick_worker using true check true',
  'otp_devices system_all: all to bailiwick_system using true check true',
  'otp_email_codes system_all: all to bailiwick_system using true check true',
  'otp_email_codes worker_expires: all to bailiwick_worker using (expires_at <= now())',
  'otp_recovery_codes system_all: all to bailiwick_system using true check true',
  'outbox system_inserts: insert to bailiwick_system check true',
  'outbox worker_all: all to bailiwick_worker using true check true',
  'passkey_challenges system_all: all to bailiwick_system using true check true',
  'passkey_challenges worker_expires: all to bailiwick_worker using (expires_at <= now())',
  'passkeys system_all: all to bailiwick_system using true check true',
  'pending_sessions system_all: all to bailiwick_system using true check true',
  'pending_sessions worker_expires: all to bailiwick_worker using (expires_at <= now())',
  `pending_sessions worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'person_memberships system_ends: delete to bailiwick_system using true',
  'person_memberships system_reads: select to bailiwick_system using true',
  `person_memberships worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  `policies worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'policy_stats system_all: all to bailiwick_system using true check true',
  'policy_stats worker_all: all to bailiwick_worker using true check true',
  'policy_versions worker_expires: all to bailiwick_worker using (deleted_at IS NOT NULL)',
  `policy_versions worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'rate_limits system_all: all to bailiwick_system using true check true',
  'refresh_families system_all: all to bailiwick_system using true check true',
  `refresh_families worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'registered_resources system_erases: all to bailiwick_system using true check true',
  `registered_resources worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'roles system_reads: select to bailiwick_system using true',
  `roles worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'row_counts system_all: all to bailiwick_system using true check true',
  'row_counts worker_all: all to bailiwick_worker using true check true',
  'sessions system_all: all to bailiwick_system using true check true',
  'sessions worker_expires: all to bailiwick_worker using (LEAST(ended_at, expires_at) <= now())',
  `sessions worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'sign_in_places system_all: all to bailiwick_system using true check true',
  'sign_in_places worker_all: all to bailiwick_worker using true check true',
  'signing_keys system_all: all to bailiwick_system using true check true',
  'stored_calls worker_all: all to bailiwick_worker using true check true',
  `tenant_logos worker_purges: all to bailiwick_worker using ${ofPurgedTenant}`,
  'tenant_revisions system_all: all to bailiwick_system using true check true',
  'tenant_revisions worker_all: all to bailiwick_worker using true check true',
  'tenants system_erases: update to bailiwick_system using true check true',
  'tenants system_reads: select to bailiwick_system using true',
  'tenants worker_purges: delete to bailiwick_worker using (deleted_at IS NOT NULL)',
  'tenants worker_reads: select to bailiwick_worker using true',
  'users system_all: all to bailiwick_system using true check true',
  'users worker_reads: select to bailiwick_worker using true',
  'webhook_deliveries worker_all: all to bailiwick_worker using true check true',
  'webhooks worker_all: all to bailiwick_worker using true check true',
]

/** Tables without row-level security. */
export const exemptTables: Record<string, string> = {
  schema_migrations:
    'names and checksums of our own files; run-time roles read it to know whether the schema is current',
}

/** Tables with a tenant_id whose rows belong to a user: the API reads them in the user form, or not at all. */
export const tablesOfPeople: Record<string, string> = {
  idempotency_keys:
    'a user repeats a call; tenant_id is that of the token, also where the call makes a tenant',
  made_tenants: 'a user created the tenant, and can have left it since',
  link_tokens: 'a user confirms an address outside of any tenant; tenant_id says where the flow began',
  oauth_models: 'an application presents a code or a token; tenant_id is that of the application',
  pending_sessions: 'a user is signing in; tenant_id says to which tenant',
  refresh_families: 'follows a session when it switches tenants; the API role sees those of the person',
  sessions: 'a user signs in, and the session can switch tenants; tenant_id says where it began',
}

/** Unique indexes without tenant_id. A collision reveals a hidden row; each line says why that is safe. */
export const globalKeys: Record<string, string> = {
  console_sessions_cookie_hash_key: 'hashes of 256 random bits: a collision cannot be guessed',
  domains_verified: 'who verifies a domain shows in the public DNS that it is theirs',
  link_tokens_token_hash_key: 'hashes of 256 random bits: a collision cannot be guessed',
  otp_devices_single: "led by the user, so only the user's own rows can collide",
  passkeys_credential: 'a credential id names one key everywhere, and a person cannot guess that of another',
  oauth_models_user_code_hash_key: 'MACs of codes that the service draws: no one chooses one',
  refresh_families_jti_hash_key: 'hashes of 256 random bits: a collision cannot be guessed',
  tenants_slug_key: 'a slug is public by design, and creating a tenant is rate limited',
  users_copied: 'contains the id, which is unique by itself: copies in memberships refer to it',
  users_email_key:
    'an address belongs to one user in all tenants; REGISTRATION_HIDE_EXISTING makes registration answer alike',
}

/** The run-time roles that can read columns with password hashes, token hashes and encrypted secrets. */
export const secretReaders: Record<string, string[]> = {
  'api_keys.key_hash': ['bailiwick_system'],
  'browser_sessions.cookie_hash': ['bailiwick_system'],
  'application_tokens.token_hash': ['bailiwick_system'],
  // The API opens it for the caller of the first call only, and workers seal it again.
  'idempotency_keys.answer_sealed': ['bailiwick_api', 'bailiwick_worker'],
  'invitations.token_hash': ['bailiwick_system'],
  'link_tokens.token_hash': ['bailiwick_system'],
  'mails.content_sealed': ['bailiwick_worker'],
  'manifest_client_secrets.secret_hash': ['bailiwick_api', 'bailiwick_system'],
  'manifest_webhooks.previous_secret_sealed': ['bailiwick_system', 'bailiwick_worker'],
  'manifest_webhooks.secret_sealed': ['bailiwick_system', 'bailiwick_worker'],
  // The API looks a client up within its tenant; the system role together with a code or token.
  'oauth_client_secrets.secret_hash': ['bailiwick_api', 'bailiwick_system'],
  'oauth_models.id_hash': ['bailiwick_system', 'bailiwick_worker'],
  'oauth_models.user_code_hash': ['bailiwick_system'],
  'otp_devices.secret_sealed': ['bailiwick_system'],
  'otp_email_codes.code_hash': ['bailiwick_system'],
  'otp_recovery_codes.code_hash': ['bailiwick_system'],
  'refresh_families.jti_hash': ['bailiwick_system'],
  'id_token_keys.private_jwk_sealed': ['bailiwick_system'],
  'signing_keys.private_jwk_sealed': ['bailiwick_system'],
  'users.password_hash': ['bailiwick_system'],
  // The API stores calls; a worker process with the API's role carries them out, and every worker seals them again.
  'stored_calls.call_sealed': ['bailiwick_api', 'bailiwick_worker'],
  'webhooks.previous_secret_sealed': ['bailiwick_worker'],
  // The API copies it to previous_secret_sealed, and decrypts neither.
  'webhooks.secret_sealed': ['bailiwick_api', 'bailiwick_worker'],
}

/**
 * Functions that run with the rights of their owner, who sees every tenant, and what they call: name and arguments,
 * settings, and the MD5 of the body, so that a changed body is a fault.
 */
export const definerFunctions = [
  // Takes no argument: it gives the memberships of the person in app.user_id.
  'public.own_memberships() {search_path=pg_catalog} 0a4f22279f8fb88da0f0de7801eb531f',
  // own_memberships() calls it: as schema/tenancy.sql makes it, and as `distribute` replaces it.
  'public.memberships_of(person uuid)  10dfc1d44d44917dfa718ff335825b21',
  'public.memberships_of(person uuid)  cdae414e5979430af9d5df10c80d8555',
]
