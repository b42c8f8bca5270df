-- What belongs to no tenant: the installation itself, the manifests of applications, and the feed over all tenants.

create table installation (
  id uuid primary key,
  created_at timestamptz not null
);
comment on table installation is 'One row: the identity of this database, part of the default token issuer';
alter table installation enable row level security, force row level security;
create policy system_all on installation for all to bailiwick_system using (true) with check (true);
create policy owner_all on installation for all to bailiwick_owner using (true) with check (true);
grant select, insert on installation to bailiwick_system;

-- The rules that an application gives every tenant. An operator applies them (manifest:apply). A tenant holds copies of them among its
-- own roles, attribute definitions and policies, so it is decided, isolated and explained as before; managed_by says which application
-- a copy comes from. tenants.manifest_revision says which revision a tenant has: a tenant below the newest is brought up to date in a
-- transaction of its own, so a run that ends early continues.
create table manifests (
  application text not null check (application ~ '^[a-z][a-z0-9_-]{0,62}$'),
  version integer not null check (version > 0),
  revision bigint not null check (revision > 0),
  document jsonb not null,
  compiled jsonb not null,
  checksum text not null,
  created_at timestamptz not null,
  primary key (application, version)
);
comment on table manifests is 'Every version of every application''s manifest; the highest version counts. Of no tenant: all tenants have the same rules';
comment on column manifests.revision is 'Grows with every version of any application; tenants.manifest_revision follows it';
comment on column manifests.document is 'As its author wrote it, with defaults';
comment on column manifests.compiled is 'What is copied into a tenant: policies as the engine reads them, with roles by name';
comment on column manifests.checksum is 'SHA-256 (hex) of the canonical document: the same again changes nothing';
alter table manifests enable row level security, force row level security;
create policy every_tenant_reads on manifests for select to bailiwick_api
  using (nullif(current_setting('app.tenant_id', true), '') is not null);
create policy system_all on manifests for all to bailiwick_system using (true) with check (true);
create policy owner_all on manifests for all to bailiwick_owner using (true) with check (true);
grant select on manifests to bailiwick_api;
grant select, insert on manifests to bailiwick_system;

-- The secret of a manifest's webhook is the same in all tenants. Only workers, which sign, and the operator's commands read it.
create table manifest_webhooks (
  application text not null,
  key text not null,
  secret_sealed bytea not null,
  previous_secret_sealed bytea,
  previous_secret_expires_at timestamptz check ((previous_secret_sealed is null) = (previous_secret_expires_at is null)),
  created_at timestamptz not null,
  primary key (application, key)
);
comment on table manifest_webhooks is 'The secrets of the webhooks of manifests. A row stays when its webhook leaves the manifest';
alter table manifest_webhooks enable row level security, force row level security;
create policy system_all on manifest_webhooks for all to bailiwick_system using (true) with check (true);
create policy worker_reads on manifest_webhooks for select to bailiwick_worker using (true);
create policy owner_all on manifest_webhooks for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on manifest_webhooks to bailiwick_system;
grant select on manifest_webhooks to bailiwick_worker;

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
grant select, insert, update (revoked_at), delete on application_tokens to bailiwick_system;

-- The events of a tenant are numbered without gaps. An entry of the feed stands for a range of these numbers, and gets its position
-- when it is made. Entries are made one transaction at a time (an advisory lock), so a later entry has a higher position and is
-- committed later: a reader that continues behind a position misses nothing. The API role reads the events themselves, in the scope of
-- their tenant, so no role reads events of several tenants.
create sequence feed_positions;
grant usage on sequence feed_positions to bailiwick_system;

create table feed_entries (
  tenant_id uuid not null,
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
