-- The tenants' own rules: attribute definitions, policies, and every version a policy ever had.

create table attribute_definitions (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  key text not null check (key ~ '^[a-z][a-z0-9_]{0,62}$'),
  display_name text not null check (char_length(display_name) <= 120),
  category text not null check (category in ('subject', 'resource', 'action', 'environment')),
  data_type text not null check (data_type in ('string', 'integer', 'number', 'boolean', 'datetime', 'ip', 'array')),
  allowed_values jsonb,
  is_required boolean not null default false,
  description text not null default '' check (char_length(description) <= 2000),
  created_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, category, key)
);
comment on table attribute_definitions is 'The tenant''s own; built-in ones are code. Never changed: a new meaning gets a new key';
alter table attribute_definitions enable row level security, force row level security;
create policy tenant_isolation on attribute_definitions for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy worker_purges on attribute_definitions for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
create policy owner_all on attribute_definitions for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on attribute_definitions to bailiwick_api;
grant select (tenant_id, id), delete on attribute_definitions to bailiwick_worker;

create trigger count_inserted after insert on attribute_definitions referencing new table as changed for each statement execute function count_inserted_rows();
create trigger count_deleted after delete on attribute_definitions referencing old table as changed for each statement execute function count_deleted_rows();

create table policies (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text not null check (char_length(name) between 1 and 120),
  description text not null default '' check (char_length(description) <= 2000),
  kind text not null default 'json' check (kind = 'json'),
  effect text not null check (effect in ('allow', 'deny', 'require_approval')),
  resource_types text[] not null,
  actions text[] not null,
  rules jsonb not null,
  mode text not null check (mode in ('enforce', 'shadow')),
  priority integer not null,
  valid_from timestamptz,
  valid_until timestamptz,
  is_active boolean not null,
  version integer not null,
  checksum text not null,
  compiled jsonb not null,
  created_by uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant_id, id)
);
comment on column policies.rules is 'Subjects (roles as ids), conditions, approval and obligations, as their author wrote them';
comment on column policies.compiled is 'What the engine reads, made of the source when it was written';
comment on column policies.checksum is 'SHA-256 (hex) of the version''s canonical source';
comment on column policies.created_by is 'A person, who may have left since';
create index policies_by_age on policies (tenant_id, created_at, id);
alter table policies enable row level security, force row level security;
create policy tenant_isolation on policies for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy worker_purges on policies for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
create policy owner_all on policies for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on policies to bailiwick_api;
grant select (tenant_id, id), delete on policies to bailiwick_worker;

create trigger count_inserted after insert on policies referencing new table as changed for each statement execute function count_inserted_rows();
create trigger count_deleted after delete on policies referencing old table as changed for each statement execute function count_deleted_rows();

create table policy_versions (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  policy_id uuid not null,
  version integer not null,
  source jsonb not null,
  checksum text not null,
  author_id uuid not null,
  reason text not null default '' check (char_length(reason) <= 1000),
  created_at timestamptz not null,
  primary key (tenant_id, id),
  unique (tenant_id, policy_id, version)
);
create index policy_versions_by_age on policy_versions (tenant_id, policy_id, created_at, id);
comment on table policy_versions is 'Only ever added to, and outlives its policy: decisions of the past are explained by it';
comment on column policy_versions.source is 'The whole document of this version, roles as ids';
alter table policy_versions enable row level security, force row level security;
create policy tenant_isolation on policy_versions for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy worker_purges on policy_versions for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
create policy owner_all on policy_versions for all to bailiwick_owner using (true) with check (true);
grant select, insert on policy_versions to bailiwick_api;
grant select (tenant_id, id), delete on policy_versions to bailiwick_worker;
