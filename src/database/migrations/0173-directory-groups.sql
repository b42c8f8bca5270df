-- Groups of SCIM with the ids of their Users, pending ones included.
create table directory_groups (
  tenant_id uuid not null,
  id uuid not null,
  display_name text not null check (char_length(display_name) between 1 and 256),
  display_name_key text collate "C" generated always as (lower(display_name)) stored,
  external_id text check (char_length(external_id) between 1 and 256),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version bigint not null default 1,
  primary key (tenant_id, id),
  constraint directory_groups_by_name unique (tenant_id, display_name_key)
);
comment on table directory_groups is 'Groups of SCIM';
comment on column directory_groups.external_id is 'What the directory calls the group';
create index directory_groups_by_external_id on directory_groups (tenant_id, external_id) where external_id is not null;
alter table directory_groups enable row level security, force row level security;
select distribute_by_tenant('directory_groups');
alter table directory_groups add foreign key (tenant_id) references tenants (id);
create policy tenant_isolation on directory_groups for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_purges on directory_groups for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on directory_groups for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on directory_groups to bailiwick_api;
grant select (tenant_id, id), delete on directory_groups to bailiwick_worker;

create table directory_group_members (
  tenant_id uuid not null,
  group_id uuid not null,
  member_id uuid not null,
  primary key (tenant_id, group_id, member_id)
);
comment on table directory_group_members is 'Who is in a group of SCIM';
comment on column directory_group_members.member_id is 'The id of the User: a membership, or a row of directory_users that waits for one';
create index directory_group_members_by_member on directory_group_members (tenant_id, member_id);
alter table directory_group_members enable row level security, force row level security;
select distribute_by_tenant('directory_group_members');
alter table directory_group_members
  add foreign key (tenant_id, group_id) references directory_groups (tenant_id, id) on delete cascade;
create policy tenant_isolation on directory_group_members for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_reads on directory_group_members for select to bailiwick_system using (true);
create policy system_erases on directory_group_members for delete to bailiwick_system using (true);
create policy worker_purges on directory_group_members for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on directory_group_members for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on directory_group_members to bailiwick_api;
grant select (tenant_id, member_id), delete on directory_group_members to bailiwick_system;
grant select (tenant_id, group_id), delete on directory_group_members to bailiwick_worker;
