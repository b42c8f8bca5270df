-- Tenants, and who belongs to them: members with their roles and departments, and invitations.
--
-- version: how often a row was changed in what its answer shows. It is the row's ETag: two changes can share a millisecond, so a time
-- does not do, and xmin tells how busy the whole database is. A statement that changes what hangs on a row, such as a member's roles,
-- also changes the row.
--
-- *_key: lower case under the collation C, whose order is that of the bytes. Only then is `key >= x and key < y` a search for a prefix,
-- and only such operators are leakproof, so that they use an index below row-level security.

create table tenants (
  id uuid primary key,
  name text not null check (char_length(name) between 1 and 120),
  name_key text collate "C" generated always as (lower(name)) stored,
  slug text not null unique check (slug ~ '^[a-z0-9](-?[a-z0-9]){0,62}$'),
  status text not null default 'active' check (status in ('active', 'suspended', 'archived')),
  settings jsonb not null default '{}',
  policy_revision bigint not null default 1,
  manifest_revision bigint not null default 0,
  version bigint not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  suspended_at timestamptz,
  archived_at timestamptz,
  deleted_at timestamptz
);
comment on column tenants.policy_revision is 'Grows with every change of policies or roles; decisions use slices of exactly this revision';
comment on column tenants.manifest_revision is 'The revision of the manifests whose rules the tenant has';
comment on column tenants.deleted_at is 'Soft deletion: invisible from then on, purged by a worker after the retention';
create index tenants_by_manifest on tenants (manifest_revision, id) where deleted_at is null;
create index tenants_deleted on tenants (deleted_at, id) where deleted_at is not null;
alter table tenants enable row level security, force row level security;
create policy tenant_isolation on tenants for all to bailiwick_api
  using (id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_reads on tenants for select to bailiwick_system using (true);
create policy system_erases on tenants for update to bailiwick_system using (true) with check (true);
create policy worker_reads on tenants for select to bailiwick_worker using (true);
create policy worker_purges on tenants for delete to bailiwick_worker using (deleted_at is not null);
create policy owner_all on tenants for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on tenants to bailiwick_api;
grant select, update (name, slug, updated_at, deleted_at, version) on tenants to bailiwick_system;
grant select, delete on tenants to bailiwick_worker;

-- On a distributed database a change of `tenants` is one on every node. What changes with the rules of a tenant is on its own node.
create table tenant_revisions (
  tenant_id uuid primary key references tenants (id),
  policy_changes bigint not null default 0
);
comment on table tenant_revisions is 'What changes often in a tenant, on a distributed database, where a change of tenants is one on every node. Empty on one Postgres';
comment on column tenant_revisions.tenant_id is 'Its row is locked by changes under rules over many rows of the tenant';
comment on column tenant_revisions.policy_changes is 'Changes of policies and roles, in addition to tenants.policy_revision';
alter table tenant_revisions enable row level security, force row level security;
create policy tenant_isolation on tenant_revisions for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_all on tenant_revisions for all to bailiwick_system using (true) with check (true);
create policy worker_all on tenant_revisions for all to bailiwick_worker using (true) with check (true);
create policy owner_all on tenant_revisions for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on tenant_revisions to bailiwick_api, bailiwick_system;
grant select, delete on tenant_revisions to bailiwick_worker;

create table roles (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text not null check (char_length(name) between 1 and 64),
  name_key text collate "C" not null,
  description text not null default '' check (char_length(description) <= 2000),
  permissions text[] not null default '{}',
  is_system boolean not null default false,
  managed_by text,
  managed_as text,
  version bigint not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, name_key),
  constraint roles_managed check ((managed_by is null) = (managed_as is null))
);
comment on column roles.name_key is 'Name in NFC and lower case: what makes it unique';
comment on column roles.permissions is 'Of custom roles; what a system role permits is data of the policies';
comment on column roles.managed_by is 'The application whose manifest gave the tenant this role; null for its own';
create index roles_by_age on roles (tenant_id, created_at, id);
create unique index roles_by_manifest on roles (tenant_id, managed_by, managed_as) where managed_by is not null;
alter table roles enable row level security, force row level security;
create policy tenant_isolation on roles for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_reads on roles for select to bailiwick_system using (true);
create policy worker_purges on roles for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on roles for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on roles to bailiwick_api;
grant select on roles to bailiwick_system;
grant select (tenant_id, id), delete on roles to bailiwick_worker;

create table departments (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text not null check (char_length(name) between 1 and 120),
  name_key text collate "C" generated always as (lower(name)) stored,
  description text not null default '' check (char_length(description) <= 2000),
  parent_id uuid,
  version bigint not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, id),
  foreign key (tenant_id, parent_id) references departments (tenant_id, id)
);
create index departments_by_parent on departments (tenant_id, parent_id, created_at, id);
create index departments_by_age on departments (tenant_id, created_at, id);
create index departments_by_name_key on departments (tenant_id, name_key, id);
alter table departments enable row level security, force row level security;
create policy tenant_isolation on departments for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_purges on departments for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on departments for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on departments to bailiwick_api;
grant select (tenant_id, id, parent_id), delete on departments to bailiwick_worker;

-- A service account is a membership without a person, so that roles, policies, row-level security and limits hold for it as they are.
-- Its id is that of the membership, its name is in first_name, and it joined when it was created.
--
-- A session belongs to its person and can have tokens for several tenants. So the end of a member's sessions in one tenant is one time
-- here, in one row, however many tokens there are.
--
-- Managers have no foreign key: two members can be each other's manager, and then a purge could delete neither first. The statements
-- that end a membership clear its id elsewhere, after a lock of the membership.
create table memberships (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  kind text not null default 'user' check (kind in ('user', 'service_account')),
  user_id uuid,
  email text collate "C" not null,
  first_name text not null default '',
  first_name_key text collate "C" generated always as (lower(first_name)) stored,
  last_name text not null default '',
  last_name_key text collate "C" generated always as (lower(last_name)) stored,
  description text not null default '' check (char_length(description) <= 2000),
  status text not null default 'active' check (status in ('active', 'suspended')),
  department_id uuid,
  manager_id uuid,
  attributes jsonb not null default '{}',
  version bigint not null default 1,
  joined_at timestamptz not null,
  created_by uuid,
  updated_at timestamptz not null,
  last_entered_at timestamptz,
  sessions_ended_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, user_id),
  foreign key (tenant_id, department_id) references departments (tenant_id, id),
  constraint memberships_person check ((kind = 'user') = (user_id is not null))
);
comment on column memberships.kind is 'user: a person; service_account: a program of the tenant, which logs in with keys';
comment on column memberships.user_id is 'Null for a service account';
comment on column memberships.email is 'Copy of the person''s, as are the names: filters and searches need an index led by tenant_id';
comment on column memberships.description is 'Of a service account';
comment on column memberships.manager_id is 'The user id of the member''s manager, a member of the same tenant; null for none';
comment on column memberships.created_by is 'Who created the service account, without a foreign key: it outlives them; null for a person';
comment on column memberships.last_entered_at is 'Last login or switch into this tenant: where the next login leads';
comment on column memberships.sessions_ended_at is
  'Sessions that began until then are over in this tenant, with every token for it; null while none was ended';
-- Of two plans of one cost the index that was made later wins: `memberships_of_user`, which has no tenant, is not among the last.
create index memberships_by_age on memberships (tenant_id, joined_at, id);
create index memberships_by_email on memberships (tenant_id, email, id);
create index memberships_by_department on memberships (tenant_id, department_id, joined_at, id);
create index memberships_of_user on memberships (user_id, joined_at);
create index memberships_by_first_name on memberships (tenant_id, first_name_key, id);
create index memberships_by_last_name on memberships (tenant_id, last_name_key, id);
create index memberships_by_manager on memberships (tenant_id, manager_id, joined_at, id) where manager_id is not null;
create index memberships_by_status on memberships (tenant_id, status, joined_at, id);
create index memberships_service_accounts on memberships (tenant_id, joined_at, id) where kind = 'service_account';
create index memberships_service_accounts_by_name on memberships (tenant_id, first_name_key, id) where kind = 'service_account';
alter table memberships enable row level security, force row level security;
create policy tenant_isolation on memberships for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_all on memberships for all to bailiwick_system using (true) with check (true);
create policy worker_purges on memberships for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on memberships for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on memberships to bailiwick_api;
grant select, update (email, first_name, last_name, last_entered_at, manager_id, version) on memberships to bailiwick_system;
grant select (tenant_id, id), delete on memberships to bailiwick_worker;

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
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_reads on membership_roles for select to bailiwick_system using (true);
create policy worker_purges on membership_roles for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on membership_roles for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on membership_roles to bailiwick_api;
grant select on membership_roles to bailiwick_system;
grant select (tenant_id, membership_id, role_id), delete on membership_roles to bailiwick_worker;

-- On a distributed database `memberships` is spread by tenant, so a search by person would ask every node. This table stays on the
-- coordinator and says where to look; `memberships` alone says what a person is there. A row too many is harmless: the membership is
-- not found.
create table person_memberships (
  tenant_id uuid not null references tenants (id),
  user_id uuid not null,
  primary key (tenant_id, user_id)
);
comment on table person_memberships is 'Which tenants each person belongs to: each statement that inserts or deletes a membership of a person does the same here';
create index person_memberships_of_user on person_memberships (user_id, tenant_id);
alter table person_memberships enable row level security, force row level security;
create policy tenant_isolation on person_memberships for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_reads on person_memberships for select to bailiwick_system using (true);
create policy worker_purges on person_memberships for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on person_memberships for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on person_memberships to bailiwick_api;
grant select on person_memberships to bailiwick_system;
grant select (tenant_id, user_id), delete on person_memberships to bailiwick_worker;

-- On one Postgres it reads `memberships` by its index, and becomes a part of the statement that calls it. `distribute`
-- (src/database/cluster/distribute.ts) replaces it by one that looks into person_memberships first.
create function memberships_of(person uuid)
  returns table (tenant_id uuid, membership_id uuid, status text, joined_at timestamptz, last_entered_at timestamptz,
                 sessions_ended_at timestamptz, roles text[], is_owner boolean, member_count bigint)
  language sql stable
as $$
  select m.tenant_id, m.id, m.status, m.joined_at, m.last_entered_at, m.sessions_ended_at, r.roles, r.is_owner,
         coalesce((select c.rows from public.row_counts c where c.tenant_id = m.tenant_id and c.relation = 'memberships'), 0)
  from public.memberships m
  cross join lateral (
    select coalesce(array_agg(r.name order by r.created_at, r.id), '{}') as roles,
           coalesce(bool_or(r.is_system and r.name = 'owner'), false) as is_owner
    from public.membership_roles mr join public.roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
    where mr.tenant_id = m.tenant_id and mr.membership_id = m.id) r
  where m.user_id = person
$$;
comment on function memberships_of(uuid) is 'The memberships of a person, also in deleted tenants';
revoke all on function memberships_of(uuid) from public;
grant execute on function memberships_of(uuid) to bailiwick_system;

-- A person reads their own memberships in all tenants with the rest of a request, in the scope of one tenant. The function is the one
-- way of the API role past its tenant. It takes no argument: it sees what app.user_id names.
create function own_memberships()
  returns table (tenant_id uuid, tenant_name text, tenant_slug text, tenant_status text, membership_status text, roles text[])
  language plpgsql stable security definer set search_path = pg_catalog
as $$
begin
  return query
    select t.id, t.name, t.slug, t.status, m.status, m.roles
    from public.memberships_of(nullif(current_setting('app.user_id', true), '')::uuid) m
    join public.tenants t on t.id = m.tenant_id and t.deleted_at is null
    order by m.last_entered_at desc nulls last, m.joined_at, m.membership_id;
end $$;
comment on function own_memberships() is 'The memberships of the person in app.user_id, in all tenants that are not deleted';
revoke all on function own_memberships() from public;
grant execute on function own_memberships() to bailiwick_api;

-- pending → accepted / cancelled / expired; expired → pending by sending it again. It has expired once its time is over, whatever the
-- column says: the worker only tidies up, and tells it once.
--
-- The hash of a token has no unique key, because such a key would need tenant_id in it: 256 random bits are unique without one.
create table invitations (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  email text collate "C" not null check (email = lower(email) and char_length(email) between 3 and 254),
  token_hash bytea not null,
  role_ids uuid[] not null,
  department_id uuid,
  message text not null default '' check (char_length(message) <= 1000),
  status text not null default 'pending' check (status in ('pending', 'accepted', 'cancelled', 'expired')),
  invited_by uuid not null,
  invited_by_email text not null,
  send_count integer not null default 1,
  version bigint not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null,
  accepted_at timestamptz,
  accepted_by uuid,
  primary key (tenant_id, id),
  foreign key (tenant_id, department_id) references departments (tenant_id, id)
);
comment on column invitations.token_hash is 'SHA-256 of the 256 bits in the newest mail: sending again replaces it';
comment on column invitations.role_ids is 'Without a foreign key: a role may go, and the invitation is void then';
comment on column invitations.invited_by is 'Whose permissions have to suffice when it is accepted; not a foreign key, for they may leave';
comment on column invitations.send_count is 'Mails sent; tells the tokens of an invitation apart without their hashes';
create unique index invitations_one_pending on invitations (tenant_id, email) where status = 'pending';
create index invitations_by_age on invitations (tenant_id, created_at, id);
create index invitations_by_email on invitations (tenant_id, email, id);
create index invitations_by_status on invitations (tenant_id, status, created_at, id);
create index invitations_by_department on invitations (tenant_id, department_id) where department_id is not null;
create index invitations_pending on invitations (tenant_id, expires_at) where status = 'pending';
create index invitations_running_out on invitations (expires_at) where status = 'pending';
create index invitations_of_address on invitations (email, created_at, id) where status = 'pending';
create index invitations_by_token on invitations (token_hash);
-- By a digest, so that no list of one tenant is read by an index that all tenants share.
create index invitations_by_address on invitations (md5(email));
alter table invitations enable row level security, force row level security;
create policy tenant_isolation on invitations for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_reads on invitations for select to bailiwick_system using (true);
create policy system_erases on invitations for delete to bailiwick_system using (true);
create policy worker_all on invitations for all to bailiwick_worker using (true) with check (true);
create policy owner_all on invitations for all to bailiwick_owner using (true) with check (true);
grant select (tenant_id, id, email, role_ids, department_id, message, status, invited_by, invited_by_email, send_count,
    created_at, updated_at, expires_at, accepted_at, accepted_by, version),
  insert,
  update (token_hash, status, send_count, expires_at, accepted_at, accepted_by, updated_at, department_id, version)
  on invitations to bailiwick_api;
grant select, delete on invitations to bailiwick_system;
grant select (tenant_id, id, email, status, expires_at, invited_by, version),
  update (status, updated_at, invited_by_email, version), delete on invitations to bailiwick_worker;

create table made_tenants (
  user_id uuid not null,
  tenant_id uuid not null references tenants (id),
  primary key (user_id, tenant_id)
);
comment on table made_tenants is 'Tenants that a person created, until they are erased; personal ones and those of before this table do not count';
create index made_tenants_of_tenant on made_tenants (tenant_id);
alter table made_tenants enable row level security, force row level security;
create policy own_rows on made_tenants for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
create policy worker_all on made_tenants for all to bailiwick_worker using (true) with check (true);
create policy owner_all on made_tenants for all to bailiwick_owner using (true) with check (true);
grant select, insert on made_tenants to bailiwick_api;
grant select, delete on made_tenants to bailiwick_worker;
