-- The spine: who exists, where they belong, and how they are signed in.
--
-- Two forms of row-level security, both forced, and nothing else for the role bailiwick_api:
--   tenant form  tenant_id = the transaction's app.tenant_id
--   user form    user_id   = the transaction's app.user_id
-- What bailiwick_system, bailiwick_worker and bailiwick_owner may see across tenants has a policy of its own per
-- table; platform/db/isolation.ts holds the frozen list and refuses to start when the catalogue differs from it.

grant usage on schema public to bailiwick_api, bailiwick_system, bailiwick_worker;
revoke create on schema public from public;

create table installation (
  id uuid primary key,
  created_at timestamptz not null
);
comment on table installation is 'One row: the identity of this database, part of the default token issuer';
alter table installation enable row level security, force row level security;
create policy system_all on installation for all to bailiwick_system using (true) with check (true);
create policy owner_all on installation for all to bailiwick_owner using (true) with check (true);
grant select, insert on installation to bailiwick_system;

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

create table tenants (
  id uuid primary key,
  name text not null check (char_length(name) between 1 and 120),
  slug text not null unique check (slug ~ '^[a-z0-9](-?[a-z0-9]){0,62}$'),
  status text not null default 'active' check (status in ('active', 'suspended', 'archived')),
  settings jsonb not null default '{}',
  policy_revision bigint not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  suspended_at timestamptz,
  archived_at timestamptz,
  deleted_at timestamptz
);
comment on column tenants.policy_revision is 'Grows with every change of policies or roles; decisions use slices of exactly this revision';
comment on column tenants.deleted_at is 'Soft deletion: invisible from then on, purged by a worker after the retention';
alter table tenants enable row level security, force row level security;
create policy tenant_isolation on tenants for all to bailiwick_api
  using (id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy system_reads on tenants for select to bailiwick_system using (true);
create policy worker_reads on tenants for select to bailiwick_worker using (true);
create policy owner_all on tenants for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on tenants to bailiwick_api;
grant select on tenants to bailiwick_system, bailiwick_worker;

create table users (
  id uuid primary key,
  email text not null unique check (email = lower(email) and char_length(email) between 3 and 254),
  password_hash text not null,
  first_name text not null default '' check (char_length(first_name) <= 150),
  last_name text not null default '' check (char_length(last_name) <= 150),
  is_active boolean not null default true,
  email_verified_at timestamptz,
  date_joined timestamptz not null,
  updated_at timestamptz not null
);
comment on table users is 'People. Global: one person may belong to many tenants; a tenant changes the membership, never the person';
comment on column users.email is 'Normalised: trimmed, lower case, domain as A-labels';

create table roles (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text not null check (char_length(name) between 1 and 64),
  name_key text not null,
  description text not null default '' check (char_length(description) <= 2000),
  permissions text[] not null default '{}',
  is_system boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, name_key)
);
comment on column roles.name_key is 'Name in NFC and lower case: what makes it unique';
comment on column roles.permissions is 'Of custom roles; what a system role permits is data of the policies';
alter table roles enable row level security, force row level security;
create policy tenant_isolation on roles for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy system_reads on roles for select to bailiwick_system using (true);
create policy owner_all on roles for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on roles to bailiwick_api;
grant select on roles to bailiwick_system;

create table departments (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text not null check (char_length(name) between 1 and 120),
  description text not null default '' check (char_length(description) <= 2000),
  parent_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, id),
  foreign key (tenant_id, parent_id) references departments (tenant_id, id)
);
create index departments_by_parent on departments (tenant_id, parent_id, created_at, id);
create index departments_by_age on departments (tenant_id, created_at, id);
alter table departments enable row level security, force row level security;
create policy tenant_isolation on departments for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy owner_all on departments for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on departments to bailiwick_api;

create table memberships (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  user_id uuid not null references users (id),
  email text not null,
  first_name text not null default '',
  last_name text not null default '',
  status text not null default 'active' check (status in ('active', 'suspended')),
  department_id uuid,
  attributes jsonb not null default '{}',
  joined_at timestamptz not null,
  updated_at timestamptz not null,
  last_entered_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, user_id),
  foreign key (tenant_id, department_id) references departments (tenant_id, id)
);
comment on column memberships.email is 'Copy of the person''s, as are the names: filters and searches need an index led by tenant_id';
comment on column memberships.last_entered_at is 'Last login or switch into this tenant: where the next login leads';
create index memberships_by_age on memberships (tenant_id, joined_at, id);
create index memberships_by_email on memberships (tenant_id, email, id);
create index memberships_by_department on memberships (tenant_id, department_id, joined_at, id);
create index memberships_of_user on memberships (user_id, joined_at);
alter table memberships enable row level security, force row level security;
create policy tenant_isolation on memberships for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy system_all on memberships for all to bailiwick_system using (true) with check (true);
create policy owner_all on memberships for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on memberships to bailiwick_api;
grant select on memberships to bailiwick_system;
grant update (email, first_name, last_name, last_entered_at) on memberships to bailiwick_system;

create table membership_roles (
  tenant_id uuid not null,
  membership_id uuid not null,
  role_id uuid not null,
  primary key (tenant_id, membership_id, role_id),
  foreign key (tenant_id, membership_id) references memberships (tenant_id, id) on delete cascade,
  foreign key (tenant_id, role_id) references roles (tenant_id, id)
);
create index membership_roles_by_role on membership_roles (tenant_id, role_id, membership_id);
alter table membership_roles enable row level security, force row level security;
create policy tenant_isolation on membership_roles for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy system_reads on membership_roles for select to bailiwick_system using (true);
create policy owner_all on membership_roles for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on membership_roles to bailiwick_api;
grant select on membership_roles to bailiwick_system;

-- People are visible to themselves and to the tenants they belong to. The API role may write a new password hash
-- (registration) and never read one: columns are granted one by one.
alter table users enable row level security, force row level security;
create policy own_row on users for all to bailiwick_api
  using (id = (select nullif(current_setting('app.user_id', true), '')::uuid))
  with check (id = (select nullif(current_setting('app.user_id', true), '')::uuid));
create policy fellow_members on users for select to bailiwick_api
  using (id in (select m.user_id from memberships m where m.tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid)));
create policy system_all on users for all to bailiwick_system using (true) with check (true);
create policy owner_all on users for all to bailiwick_owner using (true) with check (true);
grant select (id, email, first_name, last_name, is_active, email_verified_at, date_joined, updated_at) on users to bailiwick_api;
grant insert on users to bailiwick_api;
grant select on users to bailiwick_system;
grant update (email, password_hash, first_name, last_name, is_active, email_verified_at, updated_at) on users to bailiwick_system;

create table sessions (
  id uuid primary key,
  user_id uuid not null references users (id),
  tenant_id uuid not null references tenants (id),
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
alter table sessions enable row level security, force row level security;
create policy own_rows on sessions for all to bailiwick_api
  using (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid))
  with check (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid));
create policy system_all on sessions for all to bailiwick_system using (true) with check (true);
create policy owner_all on sessions for all to bailiwick_owner using (true) with check (true);
grant select on sessions to bailiwick_api;
grant select, insert, update, delete on sessions to bailiwick_system;

create table refresh_families (
  id uuid primary key,
  session_id uuid not null references sessions (id) on delete cascade,
  user_id uuid not null references users (id),
  tenant_id uuid not null references tenants (id),
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
alter table refresh_families enable row level security, force row level security;
create policy system_all on refresh_families for all to bailiwick_system using (true) with check (true);
create policy owner_all on refresh_families for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on refresh_families to bailiwick_system;

create table link_tokens (
  id uuid primary key,
  purpose text not null check (purpose in ('email_verification', 'password_reset')),
  user_id uuid not null references users (id),
  tenant_id uuid not null references tenants (id),
  email text not null,
  token_hash bytea not null unique,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
comment on table link_tokens is 'One-time tokens sent by mail (256 bits, only the SHA-256 is kept)';
comment on column link_tokens.email is 'The address it was sent to: dead when the person''s address changes';
comment on column link_tokens.tenant_id is 'The tenant in which the flow began: its event belongs there';
create index link_tokens_of_user on link_tokens (user_id, purpose) where used_at is null;
alter table link_tokens enable row level security, force row level security;
create policy own_rows on link_tokens for all to bailiwick_api
  using (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid))
  with check (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid));
create policy system_all on link_tokens for all to bailiwick_system using (true) with check (true);
create policy owner_all on link_tokens for all to bailiwick_owner using (true) with check (true);
grant insert on link_tokens to bailiwick_api;
grant select, insert, update, delete on link_tokens to bailiwick_system;

-- How many rows a tenant has in a table, kept by triggers, so that a list answers its count without a scan.
create table row_counts (
  tenant_id uuid not null,
  relation text not null,
  rows bigint not null,
  primary key (tenant_id, relation)
);
alter table row_counts enable row level security, force row level security;
create policy tenant_isolation on row_counts for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy system_all on row_counts for all to bailiwick_system using (true) with check (true);
create policy worker_all on row_counts for all to bailiwick_worker using (true) with check (true);
create policy owner_all on row_counts for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on row_counts to bailiwick_api, bailiwick_system, bailiwick_worker;

create function count_inserted_rows() returns trigger language plpgsql as $$
begin
  insert into row_counts as c (tenant_id, relation, rows)
  select tenant_id, tg_table_name, count(*) from changed group by tenant_id
  on conflict (tenant_id, relation) do update set rows = c.rows + excluded.rows;
  return null;
end $$;

create function count_deleted_rows() returns trigger language plpgsql as $$
begin
  update row_counts c set rows = c.rows - d.rows
  from (select tenant_id, count(*) as rows from changed group by tenant_id) d
  where c.tenant_id = d.tenant_id and c.relation = tg_table_name;
  return null;
end $$;

create trigger count_inserted after insert on memberships referencing new table as changed for each statement execute function count_inserted_rows();
create trigger count_deleted after delete on memberships referencing old table as changed for each statement execute function count_deleted_rows();
create trigger count_inserted after insert on roles referencing new table as changed for each statement execute function count_inserted_rows();
create trigger count_deleted after delete on roles referencing old table as changed for each statement execute function count_deleted_rows();
create trigger count_inserted after insert on departments referencing new table as changed for each statement execute function count_inserted_rows();
create trigger count_deleted after delete on departments referencing old table as changed for each statement execute function count_deleted_rows();
