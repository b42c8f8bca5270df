-- Second factors: devices, the codes sent and made for them, how often somebody guessed, and sign-ins that wait.
-- All of it is people's, in the user form; the API role reads neither sealed secrets nor hashes of codes.

create table otp_devices (
  user_id uuid not null references users (id),
  id uuid not null,
  type text not null check (type in ('totp', 'email', 'static')),
  name text not null check (char_length(name) <= 120),
  secret_sealed bytea check ((type = 'totp') = (secret_sealed is not null)),
  last_step bigint,
  created_at timestamptz not null,
  confirmed_at timestamptz check (type = 'totp' or confirmed_at is not null),
  last_used_at timestamptz,
  primary key (user_id, id)
);
comment on column otp_devices.last_step is 'The newest TOTP step accepted (RFC 6238 §5.2): no step up to it is accepted again';
comment on column otp_devices.confirmed_at is 'Null for a TOTP device that never showed a code: it verifies nothing';
create unique index otp_devices_single on otp_devices (user_id, type) where type <> 'totp' or confirmed_at is null;
comment on index otp_devices_single is 'One e-mail device, one set of recovery codes, one TOTP device being set up';
alter table otp_devices enable row level security, force row level security;
create policy own_rows on otp_devices for all to bailiwick_api
  using (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid))
  with check (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid));
create policy system_all on otp_devices for all to bailiwick_system using (true) with check (true);
create policy owner_all on otp_devices for all to bailiwick_owner using (true) with check (true);
grant select (user_id, id, type, name, created_at, confirmed_at, last_used_at) on otp_devices to bailiwick_api;
grant insert, delete on otp_devices to bailiwick_api;
grant update (id, name, secret_sealed, created_at) on otp_devices to bailiwick_api;
grant select, insert on otp_devices to bailiwick_system;
grant update (secret_sealed, last_step, confirmed_at, last_used_at) on otp_devices to bailiwick_system;

-- A verified address is a device from that moment, whoever verified it. The id is random here: a trigger has no
-- application at hand to make one in order of time.
create function make_email_device() returns trigger language plpgsql as $$
begin
  insert into otp_devices (user_id, id, type, name, created_at, confirmed_at)
  values (new.id, gen_random_uuid(), 'email', 'E-mail', new.email_verified_at, new.email_verified_at)
  on conflict (user_id, type) where type <> 'totp' or confirmed_at is null do nothing;
  return null;
end $$;
create trigger email_device_of_new_user after insert on users for each row
  when (new.email_verified_at is not null) execute function make_email_device();
create trigger email_device_of_user after update of email_verified_at on users for each row
  when (old.email_verified_at is null and new.email_verified_at is not null) execute function make_email_device();

create table otp_email_codes (
  user_id uuid not null,
  id uuid not null,
  device_id uuid not null,
  code_hash bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  primary key (user_id, id),
  foreign key (user_id, device_id) references otp_devices (user_id, id) on delete cascade
);
comment on column otp_email_codes.code_hash is 'Keyed hash over the person, the address it was sent to and the code: dead when the address changes';
create index otp_email_codes_by_expiry on otp_email_codes (expires_at);
alter table otp_email_codes enable row level security, force row level security;
create policy own_rows on otp_email_codes for all to bailiwick_api
  using (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid))
  with check (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid));
create policy system_all on otp_email_codes for all to bailiwick_system using (true) with check (true);
create policy worker_expires on otp_email_codes for all to bailiwick_worker using (expires_at <= now());
create policy owner_all on otp_email_codes for all to bailiwick_owner using (true) with check (true);
grant insert on otp_email_codes to bailiwick_api;
grant select on otp_email_codes to bailiwick_system;
grant update (used_at) on otp_email_codes to bailiwick_system;
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
  using (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid))
  with check (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid));
create policy system_all on otp_recovery_codes for all to bailiwick_system using (true) with check (true);
create policy owner_all on otp_recovery_codes for all to bailiwick_owner using (true) with check (true);
grant select (user_id, device_id), insert, delete on otp_recovery_codes to bailiwick_api;
grant select, delete on otp_recovery_codes to bailiwick_system;

create table otp_attempts (
  user_id uuid primary key references users (id),
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

create table pending_sessions (
  id uuid primary key,
  user_id uuid not null references users (id),
  tenant_id uuid not null references tenants (id),
  session_id uuid references sessions (id) on delete cascade,
  auth_time timestamptz not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz
);
comment on table pending_sessions is 'Between password and second factor: what a temporary token stands for';
comment on column pending_sessions.session_id is 'The session that is to enter a tenant which demands a second factor; null where one is to begin';
comment on column pending_sessions.ended_at is 'When it was completed, or ended with the sessions of its person';
create index pending_sessions_of_user on pending_sessions (user_id) where ended_at is null;
create index pending_sessions_by_session on pending_sessions (session_id) where session_id is not null;
create index pending_sessions_by_expiry on pending_sessions (expires_at);
alter table pending_sessions enable row level security, force row level security;
create policy own_rows on pending_sessions for all to bailiwick_api
  using (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid))
  with check (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid));
create policy system_all on pending_sessions for all to bailiwick_system using (true) with check (true);
create policy worker_expires on pending_sessions for all to bailiwick_worker using (expires_at <= now());
create policy worker_purges on pending_sessions for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
create policy owner_all on pending_sessions for all to bailiwick_owner using (true) with check (true);
grant select on pending_sessions to bailiwick_api;
grant select, insert on pending_sessions to bailiwick_system;
grant update (ended_at) on pending_sessions to bailiwick_system;
grant select (tenant_id, id, expires_at), delete on pending_sessions to bailiwick_worker;

-- The worker tidies up what is long over, and sees nothing that is not over; refresh families and pending sessions go with their session.
create index sessions_by_end on sessions (least(ended_at, expires_at));
create index link_tokens_by_expiry on link_tokens (expires_at);
create policy worker_expires on sessions for all to bailiwick_worker using (least(ended_at, expires_at) <= now());
create policy worker_expires on link_tokens for all to bailiwick_worker using (expires_at <= now());
grant select (id, ended_at, expires_at), delete on sessions to bailiwick_worker;
grant select (id, expires_at), delete on link_tokens to bailiwick_worker;
