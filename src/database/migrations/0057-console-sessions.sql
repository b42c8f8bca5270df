-- The console's cookie. The browser holds the cookie alone: the session and its tenant are those of the chain of refresh
-- tokens that the sign-in began, and no token leaves the service.
create table console_sessions (
  id uuid primary key,
  cookie_hash bytea not null unique,
  family_id uuid references refresh_families (id) on delete cascade,
  checked_until timestamptz not null,
  pending_id uuid references pending_sessions (id) on delete set null,
  methods text[] not null default '{}',
  created_at timestamptz not null,
  expires_at timestamptz not null
);
comment on table console_sessions is 'Cookies of the web console, by their hash';
comment on column console_sessions.family_id is 'The chain of refresh tokens of the session and tenant; null until the second factor is shown';
comment on column console_sessions.checked_until is 'After this time the session is checked as at a refresh, and the chain advances';
comment on column console_sessions.pending_id is 'The sign-in, or the tenant switch, that waits for a second factor';
comment on column console_sessions.methods is 'The second factors that the person can show for pending_id';
create index console_sessions_by_expiry on console_sessions (expires_at);
create index console_sessions_of_family on console_sessions (family_id) where family_id is not null;
create index console_sessions_of_pending on console_sessions (pending_id) where pending_id is not null;
alter table console_sessions enable row level security, force row level security;
create policy system_all on console_sessions for all to bailiwick_system using (true) with check (true);
create policy worker_expires on console_sessions for all to bailiwick_worker using (expires_at <= now());
create policy owner_all on console_sessions for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on console_sessions to bailiwick_system;
grant update (family_id, checked_until, pending_id, methods, expires_at) on console_sessions to bailiwick_system;
grant select (id, expires_at), delete on console_sessions to bailiwick_worker;
