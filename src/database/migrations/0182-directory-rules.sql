-- What the members of a group of SCIM get.
create table directory_rules (
  tenant_id uuid not null,
  id uuid not null,
  group_id uuid not null,
  department_id uuid,
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
comment on table directory_rules is 'What the members of a group of SCIM get: roles, and a department';
comment on column directory_rules.department_id is 'That of the oldest rule counts; null: it gives none';
create index directory_rules_by_group on directory_rules (tenant_id, group_id);
create index directory_rules_by_age on directory_rules (tenant_id, created_at, id);
alter table directory_rules enable row level security, force row level security;
select distribute_by_tenant('directory_rules');
alter table directory_rules add foreign key (tenant_id, group_id) references directory_groups (tenant_id, id) on delete cascade;
alter table directory_rules add foreign key (tenant_id, department_id) references departments (tenant_id, id);
create policy tenant_isolation on directory_rules for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_purges on directory_rules for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on directory_rules for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on directory_rules to bailiwick_api;
grant select (tenant_id, id), delete on directory_rules to bailiwick_worker;

create table directory_rule_roles (
  tenant_id uuid not null,
  rule_id uuid not null,
  role_id uuid not null,
  primary key (tenant_id, rule_id, role_id)
);
comment on table directory_rule_roles is 'Which roles a rule gives';
create index directory_rule_roles_by_role on directory_rule_roles (tenant_id, role_id);
alter table directory_rule_roles enable row level security, force row level security;
select distribute_by_tenant('directory_rule_roles');
alter table directory_rule_roles add foreign key (tenant_id, rule_id) references directory_rules (tenant_id, id) on delete cascade;
alter table directory_rule_roles add foreign key (tenant_id, role_id) references roles (tenant_id, id);
create policy tenant_isolation on directory_rule_roles for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_purges on directory_rule_roles for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on directory_rule_roles for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on directory_rule_roles to bailiwick_api;
grant select (tenant_id, rule_id, role_id), delete on directory_rule_roles to bailiwick_worker;
