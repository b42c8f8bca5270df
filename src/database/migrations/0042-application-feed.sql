-- The feed over all tenants, for the applications of the installation.
--
-- The events of a tenant are numbered without gaps. An entry of the feed stands for a range of these numbers, and gets its
-- position when it is made. Entries are made one transaction at a time (an advisory lock), so a later entry has a higher
-- position and is committed later: a reader that continues behind a position misses nothing. Events themselves are read
-- by the API role in the scope of their tenant, so no role reads events of several tenants.

create table application_tokens (
  id uuid primary key,
  application text not null,
  token_hash bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz
);
comment on table application_tokens is 'Tokens of an application itself, in no tenant (256 bits, only the SHA-256 is kept)';
create index application_tokens_by_age on application_tokens (expires_at);
alter table application_tokens enable row level security, force row level security;
create policy system_all on application_tokens for all to bailiwick_system using (true) with check (true);
create policy owner_all on application_tokens for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on application_tokens to bailiwick_system;
grant update (revoked_at) on application_tokens to bailiwick_system;

create sequence feed_positions;
grant usage on sequence feed_positions to bailiwick_system;

create table feed_entries (
  tenant_id uuid not null references tenants (id),
  first_sequence bigint not null,
  last_sequence bigint not null,
  position bigint not null default nextval('feed_positions'),
  created_at timestamptz not null,
  primary key (tenant_id, first_sequence),
  check (last_sequence >= first_sequence)
);
comment on table feed_entries is 'A range of the events of a tenant, with its place in the feed over all tenants';
create index feed_entries_in_order on feed_entries (position);
create index feed_entries_by_age on feed_entries (created_at);
alter table feed_entries enable row level security, force row level security;
create policy system_all on feed_entries for all to bailiwick_system using (true) with check (true);
create policy worker_all on feed_entries for all to bailiwick_worker using (true) with check (true);
create policy owner_all on feed_entries for all to bailiwick_owner using (true) with check (true);
grant select, insert on feed_entries to bailiwick_system;
grant select (tenant_id, first_sequence, created_at), delete on feed_entries to bailiwick_worker;

alter table event_sequences add column fed bigint not null default 0;
comment on column event_sequences.fed is 'Up to here the events are in feed_entries';
create policy system_feeds on event_sequences for all to bailiwick_system using (true) with check (true);
grant select on event_sequences to bailiwick_system;
grant update (fed) on event_sequences to bailiwick_system;
