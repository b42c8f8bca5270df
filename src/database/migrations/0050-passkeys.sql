-- Passkeys: WebAuthn credentials of people, and the challenges that wait for an answer. Both belong to people, like the
-- other second factors (0003).

create table passkeys (
  user_id uuid not null references users (id) on delete cascade,
  id uuid not null,
  credential_id bytea not null check (octet_length(credential_id) between 1 and 1023),
  public_key bytea not null,
  counter bigint not null,
  name text not null check (char_length(name) between 1 and 120),
  transports text[] not null,
  backed_up boolean not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  counts_from timestamptz,
  shown_in uuid,
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
  using (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid))
  with check (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid));
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
  using (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid))
  with check (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid));
create policy system_all on passkey_challenges for all to bailiwick_system using (true) with check (true);
create policy worker_expires on passkey_challenges for all to bailiwick_worker using (expires_at <= now());
create policy owner_all on passkey_challenges for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on passkey_challenges to bailiwick_api;
grant select, insert, delete on passkey_challenges to bailiwick_system;
grant select (challenge, expires_at), delete on passkey_challenges to bailiwick_worker;

-- A sign-in can begin with something else than the password.
alter table pending_sessions add column amr text[] not null default '{pwd}';
comment on column pending_sessions.amr is 'The first factor that was shown (RFC 8176)';
