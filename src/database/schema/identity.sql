-- People, how they sign in, and what limits guessing.
--
-- Tables of people are in the user form: the API role sees the rows of its caller. It reads no sealed secret and no hash; columns are
-- granted one by one where a table has any. Second factors: docs/explanation/second-factors.md.

create table signing_keys (
  kid text primary key,
  algorithm text not null check (algorithm in ('ES256', 'EdDSA', 'RS256')),
  public_jwk jsonb not null,
  private_jwk_sealed bytea not null,
  created_at timestamptz not null,
  retires_at timestamptz
);
comment on column signing_keys.private_jwk_sealed is 'Sealed by SECRET_KEYS; emptied rows are never used to sign';
comment on column signing_keys.retires_at is 'When no token signed by this key can be alive any more; null while it signs';
alter table signing_keys enable row level security, force row level security;
create policy system_all on signing_keys for all to bailiwick_system using (true) with check (true);
create policy owner_all on signing_keys for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on signing_keys to bailiwick_system;

-- People are visible to themselves and to the tenants they belong to (the policy fellow_members is in foreign-keys.sql). The API role
-- writes a new password hash at a registration, and never reads one. The token of an invitation verifies the address it was sent to, in
-- the transaction that accepts it, so that the API role can update email_verified_at of its own row.
--
-- A stored call outlives the logout of its requester, but not the end of all their sessions. A session that had been logged out
-- before says nothing of that, so the person does (sessions_ended_at): one row, however many sessions and calls there are.
create table users (
  id uuid primary key,
  email text not null unique check (email = lower(email) and char_length(email) between 3 and 254),
  email_verified_at timestamptz,
  address_since timestamptz,
  previous_email text,
  previous_verified_at timestamptz,
  codes_email text,
  codes_until timestamptz,
  mailed_codes_count_from timestamptz,
  password_hash text not null,
  first_name text not null default '' check (char_length(first_name) <= 150),
  last_name text not null default '' check (char_length(last_name) <= 150),
  is_active boolean not null default true,
  version bigint not null default 1,
  date_joined timestamptz not null,
  updated_at timestamptz not null,
  sessions_ended_at timestamptz
);
comment on table users is 'People. Global: one person may belong to many tenants; a tenant changes the membership, never the person';
comment on column users.email is 'Normalised: trimmed, lower case, domain as A-labels';
comment on column users.address_since is 'When the present address became the account''s; null: with the account';
comment on column users.previous_email is 'The address that comes back when the present one is rejected; of no effect once that is verified';
comment on column users.previous_verified_at is 'When that one was verified; null: the account never had a verified address';
comment on column users.codes_email is 'The verified address before a change: second-factor codes go there until codes_until';
comment on column users.mailed_codes_count_from is 'After a reset by mail: until then a code sent by e-mail does not count as a second factor';
comment on column users.sessions_ended_at is
  'When all sessions of the person were ended last: calls that they stored until then are not carried out; null while they never were';
-- The few whose account is switched off: lists of active people leave these out, in place of asking each of the others.
create index users_inactive on users (id) where not is_active;
create index users_moved on users (id) where previous_email is not null or codes_until is not null;
alter table users enable row level security, force row level security;
create policy own_row on users for all to bailiwick_api
  using (id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (id = nullif(current_setting('app.user_id', true), '')::uuid);
create policy system_all on users for all to bailiwick_system using (true) with check (true);
create policy owner_all on users for all to bailiwick_owner using (true) with check (true);
grant select (id, email, first_name, last_name, is_active, email_verified_at, date_joined, updated_at, version, address_since,
    codes_email, codes_until, mailed_codes_count_from, sessions_ended_at),
  insert, update (email_verified_at, version) on users to bailiwick_api;
grant select, delete,
  update (email, password_hash, first_name, last_name, is_active, email_verified_at, updated_at, version, address_since,
    previous_email, previous_verified_at, codes_email, codes_until, mailed_codes_count_from, sessions_ended_at)
  on users to bailiwick_system;

-- An erased person: the row of users goes and takes along what is theirs. The actor retention scrubs what others keep of them, by the
-- row that is left here for so long.
create table erasures (
  user_id uuid primary key,
  email text not null,
  tenant_ids uuid[] not null,
  target_ids uuid[] not null,
  at timestamptz not null
);
comment on table erasures is 'People who were erased, until nothing that others keep names them any more';
comment on column erasures.tenant_ids is 'Where there may be something';
comment on column erasures.target_ids is 'Ids of the person, of their memberships, of invitations to them and of tenants that went along';
alter table erasures enable row level security, force row level security;
create policy system_inserts on erasures for insert to bailiwick_system with check (true);
create policy worker_all on erasures for all to bailiwick_worker using (true) with check (true);
create policy owner_all on erasures for all to bailiwick_owner using (true) with check (true);
grant insert on erasures to bailiwick_system;
grant select, delete on erasures to bailiwick_worker;

create table sessions (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  tenant_id uuid not null,
  acr text not null check (acr in ('aal1', 'aal2')),
  amr text[] not null,
  auth_time timestamptz not null,
  second_factor_at timestamptz,
  user_agent text not null default '',
  ip text not null default '',
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  end_reason text
);
comment on column sessions.tenant_id is 'The tenant in which the session began: its events belong there';
comment on column sessions.expires_at is 'Absolute: no refresh outlives it';
create index sessions_of_user on sessions (user_id, created_at, id) where ended_at is null;
create index sessions_of_person on sessions (user_id);
create index sessions_of_tenant on sessions (tenant_id, id);
create index sessions_by_end on sessions (least(ended_at, expires_at));
alter table sessions enable row level security, force row level security;
create policy own_rows on sessions for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
create policy system_all on sessions for all to bailiwick_system using (true) with check (true);
-- The worker sees what is long over, and nothing else. Chains and waiting sign-ins go with their session.
create policy worker_expires on sessions for all to bailiwick_worker using (least(ended_at, expires_at) <= now());
create policy worker_purges on sessions for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on sessions for all to bailiwick_owner using (true) with check (true);
grant select on sessions to bailiwick_api;
grant select, insert, update, delete on sessions to bailiwick_system;
grant select (tenant_id, id, ended_at, expires_at), delete on sessions to bailiwick_worker;

create table refresh_families (
  id uuid primary key,
  session_id uuid not null references sessions (id) on delete cascade,
  user_id uuid not null references users (id) on delete cascade,
  tenant_id uuid not null,
  generation integer not null,
  jti_hash bytea not null unique,
  recent_rotations timestamptz[] not null default '{}',
  created_at timestamptz not null,
  rotated_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz
);
comment on table refresh_families is 'A chain of refresh tokens (RFC 9700 §4.14): one live token, the one of this generation';
comment on column refresh_families.recent_rotations is 'Times of the rotations inside the grace window, newest last: tells a retry from a replay';
create index refresh_families_of_session on refresh_families (session_id);
create index refresh_families_of_person on refresh_families (user_id);
create index refresh_families_of_tenant on refresh_families (tenant_id, id);
alter table refresh_families enable row level security, force row level security;
create policy system_all on refresh_families for all to bailiwick_system using (true) with check (true);
create policy worker_purges on refresh_families for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on refresh_families for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on refresh_families to bailiwick_system;
grant select (tenant_id, id), delete on refresh_families to bailiwick_worker;

create table pending_sessions (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  tenant_id uuid not null,
  session_id uuid references sessions (id) on delete cascade,
  amr text[] not null default '{pwd}',
  auth_time timestamptz not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz
);
comment on table pending_sessions is 'Between password and second factor: what a temporary token stands for';
comment on column pending_sessions.session_id is 'The session that is to enter a tenant which demands a second factor; null where one is to begin';
comment on column pending_sessions.amr is 'The first factor that was shown (RFC 8176)';
comment on column pending_sessions.ended_at is 'When it was completed, or ended with the sessions of its person';
create index pending_sessions_of_user on pending_sessions (user_id) where ended_at is null;
create index pending_sessions_by_session on pending_sessions (session_id) where session_id is not null;
create index pending_sessions_by_expiry on pending_sessions (expires_at);
alter table pending_sessions enable row level security, force row level security;
create policy own_rows on pending_sessions for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
create policy system_all on pending_sessions for all to bailiwick_system using (true) with check (true);
create policy worker_expires on pending_sessions for all to bailiwick_worker using (expires_at <= now());
create policy worker_purges on pending_sessions for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on pending_sessions for all to bailiwick_owner using (true) with check (true);
grant select on pending_sessions to bailiwick_api;
grant select, insert, update (ended_at) on pending_sessions to bailiwick_system;
grant select (tenant_id, id, expires_at), delete on pending_sessions to bailiwick_worker;

-- The browser holds the cookie alone: the session and its tenant are those of the chain of refresh tokens that the sign-in began, and
-- no token leaves the service, also none of an impersonation.
create table console_sessions (
  id uuid primary key,
  cookie_hash bytea not null unique,
  family_id uuid references refresh_families (id) on delete cascade,
  checked_until timestamptz not null,
  pending_id uuid references pending_sessions (id) on delete set null,
  methods text[] not null default '{}',
  impersonated_id uuid,
  impersonated_until timestamptz,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
comment on table console_sessions is 'Cookies of the web console, by their hash';
comment on column console_sessions.family_id is 'The chain of refresh tokens of the session and tenant; null until the second factor is shown';
comment on column console_sessions.checked_until is 'After this time the session is checked as at a refresh, and the chain advances';
comment on column console_sessions.pending_id is 'The sign-in, or the tenant switch, that waits for a second factor';
comment on column console_sessions.methods is 'The second factors that the person can show for pending_id';
comment on column console_sessions.impersonated_id is 'The person whom the person of the session acts as; checked at each request';
comment on column console_sessions.impersonated_until is 'After this time the session is that of its person again';
create index console_sessions_by_expiry on console_sessions (expires_at);
create index console_sessions_of_family on console_sessions (family_id) where family_id is not null;
create index console_sessions_of_pending on console_sessions (pending_id) where pending_id is not null;
alter table console_sessions enable row level security, force row level security;
create policy system_all on console_sessions for all to bailiwick_system using (true) with check (true);
create policy worker_expires on console_sessions for all to bailiwick_worker using (expires_at <= now());
create policy owner_all on console_sessions for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete,
  update (family_id, checked_until, pending_id, methods, expires_at, impersonated_id, impersonated_until)
  on console_sessions to bailiwick_system;
grant select (id, expires_at), delete on console_sessions to bailiwick_worker;

-- A verified address is a device from that moment: the statement that verifies it makes the device.
create table otp_devices (
  user_id uuid not null references users (id) on delete cascade,
  id uuid not null,
  type text not null check (type in ('totp', 'email', 'static')),
  name text not null check (char_length(name) <= 120),
  secret_sealed bytea check ((type = 'totp') = (secret_sealed is not null)),
  last_step bigint,
  counts_from timestamptz,
  shown_in uuid,
  created_at timestamptz not null,
  confirmed_at timestamptz check (type = 'totp' or confirmed_at is not null),
  last_used_at timestamptz,
  primary key (user_id, id)
);
comment on column otp_devices.last_step is 'The newest TOTP step accepted (RFC 6238 §5.2): no step up to it is accepted again';
comment on column otp_devices.counts_from is
  'When a factor enrolled with the password alone begins to count; null or past: it counts. Of apps and recovery codes';
comment on column otp_devices.shown_in is
  'The sign-in (session or pending session) in which a young factor was enrolled or shown last: only there can another factor prove it';
comment on column otp_devices.confirmed_at is 'Null for a TOTP device that never showed a code: it verifies nothing';
create unique index otp_devices_single on otp_devices (user_id, type) where type <> 'totp' or confirmed_at is null;
comment on index otp_devices_single is 'One e-mail device, one set of recovery codes, one TOTP device being set up';
alter table otp_devices enable row level security, force row level security;
create policy own_rows on otp_devices for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
create policy system_all on otp_devices for all to bailiwick_system using (true) with check (true);
create policy owner_all on otp_devices for all to bailiwick_owner using (true) with check (true);
grant select (user_id, id, type, name, created_at, confirmed_at, last_used_at, counts_from, shown_in),
  insert, update (id, name, secret_sealed, created_at, counts_from, shown_in), delete on otp_devices to bailiwick_api;
grant select, insert, update (secret_sealed, last_step, confirmed_at, last_used_at, counts_from, shown_in), delete
  on otp_devices to bailiwick_system;

-- A code sent by e-mail is good in the sign-in that asked for it, and in no other (ASVS v5.0.0-6.6.2).
create table otp_email_codes (
  user_id uuid not null,
  id uuid not null,
  device_id uuid not null,
  sign_in_id uuid,
  code_hash bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  primary key (user_id, id),
  foreign key (user_id, device_id) references otp_devices (user_id, id) on delete cascade
);
comment on column otp_email_codes.sign_in_id is
  'The session, or the sign-in waiting for a second factor, that asked for the code; null in rows of the release before, which live for minutes';
comment on column otp_email_codes.code_hash is 'Keyed hash over the person, the address it was sent to and the code: dead when the address changes';
create index otp_email_codes_by_expiry on otp_email_codes (expires_at);
alter table otp_email_codes enable row level security, force row level security;
create policy own_rows on otp_email_codes for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
create policy system_all on otp_email_codes for all to bailiwick_system using (true) with check (true);
create policy worker_expires on otp_email_codes for all to bailiwick_worker using (expires_at <= now());
create policy owner_all on otp_email_codes for all to bailiwick_owner using (true) with check (true);
grant insert on otp_email_codes to bailiwick_api;
grant select, update (used_at) on otp_email_codes to bailiwick_system;
grant select (user_id, id, expires_at), delete on otp_email_codes to bailiwick_worker;

create table otp_recovery_codes (
  user_id uuid not null,
  device_id uuid not null,
  code_hash bytea not null,
  primary key (user_id, code_hash),
  foreign key (user_id, device_id) references otp_devices (user_id, id) on delete cascade
);
comment on table otp_recovery_codes is 'What is left of a set: a code that was used is gone';
alter table otp_recovery_codes enable row level security, force row level security;
create policy own_rows on otp_recovery_codes for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
create policy system_all on otp_recovery_codes for all to bailiwick_system using (true) with check (true);
create policy owner_all on otp_recovery_codes for all to bailiwick_owner using (true) with check (true);
grant select (user_id, device_id), insert, delete on otp_recovery_codes to bailiwick_api;
grant select, delete on otp_recovery_codes to bailiwick_system;

create table otp_attempts (
  user_id uuid primary key references users (id) on delete cascade,
  recent timestamptz[] not null,
  in_a_row integer not null,
  last_at timestamptz not null
);
comment on table otp_attempts is 'Checks of second factors, each counted as wrong before it is made and taken off when it was right';
alter table otp_attempts enable row level security, force row level security;
create policy system_all on otp_attempts for all to bailiwick_system using (true) with check (true);
create policy worker_all on otp_attempts for all to bailiwick_worker using (true) with check (true);
create policy owner_all on otp_attempts for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on otp_attempts to bailiwick_system;
grant select (user_id, last_at), delete on otp_attempts to bailiwick_worker;

create table passkeys (
  user_id uuid not null references users (id) on delete cascade,
  id uuid not null,
  credential_id bytea not null check (octet_length(credential_id) between 1 and 1023),
  public_key bytea not null,
  counter bigint not null,
  name text not null check (char_length(name) between 1 and 120),
  transports text[] not null,
  backed_up boolean not null,
  counts_from timestamptz,
  shown_in uuid,
  created_at timestamptz not null,
  last_used_at timestamptz,
  primary key (user_id, id)
);
comment on column passkeys.public_key is 'COSE key (RFC 9052)';
comment on column passkeys.counter is 'The signature counter last seen; 0 as long as the authenticator keeps none, as synced passkeys do';
comment on column passkeys.backed_up is 'Whether the authenticator said last that the passkey is synced';
comment on column passkeys.counts_from is 'When the passkey begins to count as a second factor; null: at once';
comment on column passkeys.shown_in is 'The sign-in that registered it, or last showed it while it did not count';
create unique index passkeys_credential on passkeys (credential_id);
alter table passkeys enable row level security, force row level security;
create policy own_rows on passkeys for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
create policy system_all on passkeys for all to bailiwick_system using (true) with check (true);
create policy owner_all on passkeys for all to bailiwick_owner using (true) with check (true);
grant select (user_id, id, credential_id, name, transports, backed_up, created_at, last_used_at, counts_from, shown_in),
  insert, update (name), delete on passkeys to bailiwick_api;
grant select, update (counter, backed_up, last_used_at, counts_from, shown_in), delete on passkeys to bailiwick_system;

create table passkey_challenges (
  challenge bytea primary key,
  purpose text not null check (purpose in ('registration', 'sign_in', 'second_factor')),
  user_id uuid references users (id) on delete cascade,
  sign_in_id uuid,
  expires_at timestamptz not null,
  check ((purpose = 'sign_in') = (user_id is null)),
  check ((user_id is null) = (sign_in_id is null))
);
comment on table passkey_challenges is 'Random challenges that no answer has used yet: using one deletes it';
comment on column passkey_challenges.user_id is 'The person who asked; null before anyone is known, at a sign-in';
comment on column passkey_challenges.sign_in_id is 'The session or waiting sign-in that asked';
create index passkey_challenges_of_user on passkey_challenges (user_id) where user_id is not null;
create index passkey_challenges_by_expiry on passkey_challenges (expires_at);
alter table passkey_challenges enable row level security, force row level security;
create policy own_rows on passkey_challenges for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
create policy system_all on passkey_challenges for all to bailiwick_system using (true) with check (true);
create policy worker_expires on passkey_challenges for all to bailiwick_worker using (expires_at <= now());
create policy owner_all on passkey_challenges for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on passkey_challenges to bailiwick_api, bailiwick_system;
grant select (challenge, expires_at), delete on passkey_challenges to bailiwick_worker;

-- Keys of service accounts, and of people in one tenant. The system role finds a key by its id before its tenant is known. A key never
-- changes its tenant or its holder. The API role reads in each request whether it is still live.
create table api_keys (
  tenant_id uuid not null,
  id uuid not null,
  membership_id uuid not null,
  user_id uuid references users (id) on delete cascade,
  account_id uuid,
  name text not null check (char_length(name) between 1 and 120),
  key_hash bytea not null check (octet_length(key_hash) = 32),
  scopes text[] check (cardinality(scopes) between 1 and 100),
  created_by uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  successor_id uuid,
  last_used_at timestamptz,
  primary key (tenant_id, id),
  check ((user_id is null) = (account_id is not null)),
  check (account_id is null or account_id = membership_id)
);
comment on column api_keys.membership_id is 'The membership for which it was made: a key is dead without it, also when its person joins again. No foreign key: the keys of people outlive it, to be refused as what they are';
comment on column api_keys.user_id is 'The person, for a personal key';
comment on column api_keys.account_id is 'The service account, for one of its keys';
comment on column api_keys.key_hash is 'SHA-256 of the whole key';
comment on column api_keys.scopes is 'The permissions that it is limited to; null: all of its holder';
comment on column api_keys.created_by is 'Who made it, without a foreign key: it outlives them';
comment on column api_keys.successor_id is 'The key that replaces it; until expires_at both work';
comment on column api_keys.last_used_at is 'To the minute, a few seconds late: many uses share one write';
-- Not unique, because ids are random and the hash decides.
create index api_keys_by_id on api_keys (id);
create index api_keys_of_member on api_keys (tenant_id, membership_id, created_at, id);
create index api_keys_of_person on api_keys (user_id) where user_id is not null;
create index api_keys_by_end on api_keys (least(revoked_at, expires_at));
alter table api_keys enable row level security, force row level security;
create policy tenant_isolation on api_keys for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_all on api_keys for all to bailiwick_system using (true) with check (true);
create policy worker_expires on api_keys for all to bailiwick_worker using (least(revoked_at, expires_at) <= now());
create policy worker_purges on api_keys for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on api_keys for all to bailiwick_owner using (true) with check (true);
grant select (tenant_id, id, membership_id, user_id, account_id, name, scopes, created_by, created_at, expires_at,
    revoked_at, successor_id, last_used_at),
  insert, update (revoked_at, expires_at, successor_id) on api_keys to bailiwick_api;
grant select, update (revoked_at, last_used_at) on api_keys to bailiwick_system;
grant select (tenant_id, id, revoked_at, expires_at), delete on api_keys to bailiwick_worker;

-- From here on, what limits guessing. It is counted before it is known whether there is such an account, so by the digest of an
-- address and not by the person.

create table login_attempts (
  account bytea not null,
  address text not null,
  failures integer not null,
  locked_until timestamptz,
  last_at timestamptz not null,
  primary key (account, address)
);
comment on table login_attempts is 'Failures in a row of an account from one address; the row goes with a success, a reset, or age';
comment on column login_attempts.account is 'SHA-256 of the normalised e-mail address, whether it has an account or not';
comment on column login_attempts.address is 'IPv4 address, or the /64 of an IPv6 one';
create index login_attempts_by_age on login_attempts (last_at);
alter table login_attempts enable row level security, force row level security;
create policy system_all on login_attempts for all to bailiwick_system using (true) with check (true);
create policy owner_all on login_attempts for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on login_attempts to bailiwick_system;

create table account_attempts (
  account bytea primary key,
  failures integer not null,
  window_ends_at timestamptz not null
);
comment on table account_attempts is 'Failures of an account in a day that began with the first of them';
create index account_attempts_by_age on account_attempts (window_ends_at);
alter table account_attempts enable row level security, force row level security;
create policy system_all on account_attempts for all to bailiwick_system using (true) with check (true);
create policy owner_all on account_attempts for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on account_attempts to bailiwick_system;

create table sign_in_places (
  user_id uuid not null references users (id) on delete cascade,
  address text not null,
  device bytea not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (user_id, address, device)
);
comment on table sign_in_places is 'From where a person signed in before: such an address is never locked out by failures elsewhere';
comment on column sign_in_places.device is 'SHA-256 of the user agent';
create index sign_in_places_by_age on sign_in_places (last_at);
alter table sign_in_places enable row level security, force row level security;
create policy system_all on sign_in_places for all to bailiwick_system using (true) with check (true);
create policy worker_all on sign_in_places for all to bailiwick_worker using (true) with check (true);
create policy owner_all on sign_in_places for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on sign_in_places to bailiwick_system;
-- What a squatter did before an address was first proven goes with the proof.
grant delete on sign_in_places to bailiwick_system;
grant select (user_id, address, device, last_at), delete on sign_in_places to bailiwick_worker;

-- Citus takes no subquery in the "on conflict … where" of a statement that names a table which is on every node (users). In
-- a function it is a statement of its own, which the coordinator answers alone.
create function has_signed_in_from(person text, place text) returns boolean
language sql stable set search_path = pg_catalog, public
as $$
  select exists (select 1 from public.sign_in_places p join public.users u on u.id = p.user_id
                 where u.email = person and p.address = place)
$$;
comment on function has_signed_in_from is 'Whether the person with this address of mail has signed in from this network address before';
revoke all on function has_signed_in_from from public;
grant execute on function has_signed_in_from to bailiwick_system;

-- A sender is a person, a tenant or an address of a caller.
create table mail_senders (
  sender text primary key,
  recipients text[] not null,
  window_ends_at timestamptz not null
);
comment on table mail_senders is 'Whom a sender had mailed in a day that began with the first of them; one row, so that one statement counts';
comment on column mail_senders.recipients is '72 bits of the SHA-256 of each address';
create index mail_senders_by_age on mail_senders (window_ends_at);
alter table mail_senders enable row level security, force row level security;
create policy system_all on mail_senders for all to bailiwick_system using (true) with check (true);
create policy owner_all on mail_senders for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on mail_senders to bailiwick_system;

-- Unlogged: a limit that a crash forgets starts again within the hour, and writes to it cost no log.
create unlogged table rate_limits (
  key text primary key,
  points integer not null default 0,
  expire bigint
);
comment on table rate_limits is 'Fixed windows of rate-limiter-flexible, whose statements name no columns: their order is its own';
comment on column rate_limits.expire is 'ms since 1970';
create index rate_limits_by_expiry on rate_limits (expire);
alter table rate_limits enable row level security, force row level security;
create policy system_all on rate_limits for all to bailiwick_system using (true) with check (true);
create policy owner_all on rate_limits for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on rate_limits to bailiwick_system;
