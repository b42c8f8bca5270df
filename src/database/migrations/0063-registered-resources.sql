-- Resources of applications, registered so that questions can name them by type and id alone.
create table registered_resources (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  resource_type text collate "C" not null check (resource_type ~ '^[a-z][a-z0-9_.-]{0,62}$'),
  resource_id text collate "C" not null check (char_length(resource_id) between 1 and 254),
  owner_id uuid,
  department_id uuid,
  attributes jsonb not null default '{}',
  version bigint not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, resource_type, resource_id),
  foreign key (tenant_id, owner_id) references memberships (tenant_id, user_id) on delete set null (owner_id),
  foreign key (tenant_id, department_id) references departments (tenant_id, id)
);
comment on table registered_resources is 'Resources of applications with the attributes that policies read';
comment on column registered_resources.resource_id is 'The id that the application gave it, unique in its type';
comment on column registered_resources.owner_id is 'The user id of a member; null for none, also after the member left';
comment on column registered_resources.version is 'Counts changes by callers, for If-Match';
create index registered_resources_by_age on registered_resources (tenant_id, created_at, id);
create index registered_resources_by_owner on registered_resources (tenant_id, owner_id, created_at, id) where owner_id is not null;
create index registered_resources_by_department on registered_resources (tenant_id, department_id, created_at, id)
  where department_id is not null;
alter table registered_resources enable row level security, force row level security;
create policy tenant_isolation on registered_resources for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy worker_purges on registered_resources for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
create policy owner_all on registered_resources for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on registered_resources to bailiwick_api;
grant update (owner_id, department_id, attributes, version, updated_at) on registered_resources to bailiwick_api;
grant select (tenant_id, id), delete on registered_resources to bailiwick_worker;

alter table attribute_definitions add column source text not null default 'registered'
  check (source in ('registered', 'caller'));
comment on column attribute_definitions.source is 'Of registered resources: where the value comes from. With caller, a question can give it, too';
grant update (source) on attribute_definitions to bailiwick_api;
