-- Guards: failed attempts at passwords, where people signed in from, and rate limits. Counted before it is known
-- whether there is such an account, so by the digest of an address and not by the person.

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
  user_id uuid not null references users (id),
  address text not null,
  device bytea not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (user_id, address, device)
);
comment on table sign_in_places is 'From where a person signed in before: such an address is never locked out by failures elsewhere';
comment on column sign_in_places.device is 'SHA-256 of the user agent';
alter table sign_in_places enable row level security, force row level security;
create policy system_all on sign_in_places for all to bailiwick_system using (true) with check (true);
create policy owner_all on sign_in_places for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on sign_in_places to bailiwick_system;

-- Unlogged: a limit that a crash forgets begins anew within the hour, and writes to it cost no log.
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
