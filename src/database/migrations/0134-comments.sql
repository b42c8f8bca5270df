-- One line for each table, and for columns whose name does not say all: docs/reference/schema.md is made from them.

comment on table schema_migrations is 'What migrate applied: the baseline, which is the schema of release 0.2, and each migration since';
comment on column schema_migrations.checksum is 'SHA-256 (hex) of the text, which never changes';

comment on table tenants is 'Customers of the installation, each isolated from the others';
comment on column tenants.slug is 'The name in addresses, unique over all tenants';
comment on column tenants.settings is 'What owners set: the demand for a second factor, the allowed domains of addresses, and so on';
comment on table roles is 'Named sets of permissions of a tenant; four system roles in each';
comment on table departments is 'The tree of departments of a tenant';
comment on column departments.parent_id is 'The department above; null at the top';
comment on table memberships is 'Who belongs to a tenant: people and service accounts';
comment on column memberships.attributes is 'Values of the attributes that the tenant defines for its members';
comment on table membership_roles is 'Which roles a member has';
comment on table invitations is 'Invitations by mail into a tenant: pending → accepted, cancelled or expired';
comment on column invitations.role_ids is 'The roles of the new member. Without a foreign key: if a role is deleted, the invitation is void';
comment on column invitations.invited_by is 'The person whose permissions have to suffice when it is accepted; without a foreign key, because they may leave';
comment on column person_memberships.user_id is 'The person';

comment on table signing_keys is 'Keys that sign access tokens';
comment on column signing_keys.kid is 'Names the key in tokens and in the published key set';
comment on column users.password_hash is 'Argon2id';
comment on column users.email_verified_at is 'When the person proved the present address; null: not yet';
comment on column users.is_active is 'False: the person cannot sign in anywhere';
comment on table sessions is 'What a sign-in began; read at every request, so that its end is immediate';
comment on column sessions.acr is 'The strength of the sign-in: aal1 one factor, aal2 two';
comment on column sessions.amr is 'The factors that were shown (RFC 8176)';
comment on column sessions.auth_time is 'When the first factor was shown';
comment on column sessions.second_factor_at is 'When a second factor was shown last; null: never';
comment on column refresh_families.generation is 'How often the token was exchanged';
comment on column refresh_families.jti_hash is 'SHA-256 of the id of the token that works';
comment on table otp_devices is 'Second factors of people: apps for codes, codes by mail, sets of recovery codes';
comment on column otp_devices.type is 'totp: an app; email: codes by mail; static: recovery codes';
comment on table otp_email_codes is 'Codes of a second factor that were sent by mail';
comment on column otp_attempts.recent is 'Times of the last checks: too many in the window are refused';
comment on column otp_attempts.in_a_row is 'Wrong ones in a row';
comment on table passkeys is 'WebAuthn credentials of people';
comment on table api_keys is 'Keys of service accounts, and of people in one tenant';
comment on column account_attempts.account is 'As in login_attempts';
comment on column mail_senders.sender is 'A person, a tenant or the network address of a caller';
comment on table former_addresses is 'Proven addresses that an account left. An address belongs to the account that left it last';

comment on column attribute_definitions.category is 'What it describes: subject, resource, action or environment';
comment on table policies is 'Policies of tenants in their newest version';
comment on column policies.kind is 'json: conditions; rego: a module';
comment on column policies.mode is 'enforce: it decides; shadow: what it would do is recorded';
comment on column policies.managed_as is 'Its key in the manifest';
comment on column policy_stats.would_gate is 'Would have asked for an approval';
comment on column decisions.reasons is 'Why, as codes with a layer and a sentence';
comment on column decisions.matched is 'The policies that had a part, with their versions';
comment on column decisions.policy_revision is 'The revision of the tenant''s policies that decided';
comment on column decisions.engine_revision is 'The revision of the policy bundle that decided';
comment on column approval_requests.valid_for is 'For how many seconds an approval can be used';
comment on table approval_votes is 'What approvers said: one row per person and request, never changed';
comment on table stored_calls is 'Calls that a worker carries out when they are approved (Prefer: respond-async); deleted when their request ends';

comment on table events is 'Domain events of tenants: the feed and webhooks deliver them';
comment on column events.subject is 'What the event is about';
comment on table event_sequences is 'Where the numbering of a tenant''s events is';
comment on column event_sequences.last is 'The highest number given';
comment on column event_sequences.deleted_up_to is 'Highest sequence that was deleted after EVENT_RETENTION_DAYS: the feed begins after it';
comment on column event_sequences.fed is 'Up to this number the events are in feed_entries';
comment on table audit_log is 'Who did what, when and from where. Never changed; deleted after AUDIT_RETENTION_DAYS';
comment on table outbox is 'Messages for queues, written with their cause and deleted with their effect';
comment on column outbox.enqueued_at is 'When the relay put it on its queue; null until then';
comment on index outbox_one_per_webhook is 'What adds a delivery locks this row, or makes it; what finds nothing left deletes it';
comment on table dead_letters is 'Messages whose attempts are used up, to be replayed or deleted';
comment on table mails is 'Mails to send; their content is emptied once they are sent';
comment on column mails.content_sealed is 'Address and variables, sealed; emptied once sent, because they carry tokens and codes';
comment on table notice_windows is 'How many notices of a kind an address was due in an hour';
comment on column notice_windows.ends_at is 'The end of the hour';

comment on table webhooks is 'Addresses that the events of a tenant are posted to';
comment on column webhooks.disabled_reason is 'Set: the service delivers no more, whatever is_active says, until it is activated again';
comment on column webhooks.secret_sealed is 'Signs the requests; null for a webhook of a manifest, whose secret is in manifest_webhooks';
comment on column webhook_deliveries.in_order is 'False for tests and replays, which wait for no earlier delivery';
comment on column webhook_deliveries.error is 'Why there was no answer, in one word';

comment on column row_counts.relation is 'The name of the table';
comment on table daily_counts is 'How much a tenant added in a day of what has a daily limit';

comment on column feed_entries.position is 'Its place in the feed: a later entry has a higher one';
comment on column application_tokens.token_hash is 'SHA-256 of the token';
