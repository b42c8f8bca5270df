-- On a distributed database (Citus), what changes with the rules of a tenant is on the node of the tenant.

-- Citus cannot move a table to another node while row-level security is forced on its owner, who sees all rows by `owner_all`.
create or replace function distribute_by_tenant(relation regclass) returns void language plpgsql set search_path = pg_catalog as $$
declare
  name text := relation::text;
begin
  if exists (select from pg_extension where extname = 'citus') then
    if exists (select from pg_dist_partition where logicalrelid = 'public.roles'::regclass and partmethod = 'h') then
      perform create_distributed_table(relation, 'tenant_id', colocate_with => 'public.roles');
      execute format('alter table %s no force row level security', name);
    end if;
  end if;
end $$;

create table tenant_revisions (
  tenant_id uuid primary key,
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
select distribute_by_tenant('tenant_revisions');
alter table tenant_revisions add foreign key (tenant_id) references tenants (id);
