-- How many tenants a person made, versions a policy keeps, and for how long the body of an approved call is kept.
create table made_tenants (
  user_id uuid not null references users (id) on delete cascade,
  tenant_id uuid not null references tenants (id),
  primary key (user_id, tenant_id)
);
comment on table made_tenants is 'Tenants that a person created, until they are erased; personal ones and those of before this table do not count';
create index made_tenants_of_tenant on made_tenants (tenant_id);
alter table made_tenants enable row level security, force row level security;
create policy own_rows on made_tenants for all to bailiwick_api
  using (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid))
  with check (user_id = (select nullif(current_setting('app.user_id', true), '')::uuid));
create policy worker_all on made_tenants for all to bailiwick_worker using (true) with check (true);
create policy owner_all on made_tenants for all to bailiwick_owner using (true) with check (true);
grant select, insert on made_tenants to bailiwick_api;
grant select, delete on made_tenants to bailiwick_worker;

grant delete on policy_versions to bailiwick_api;

create index if not exists approval_requests_with_body on approval_requests
  ((coalesce(executed_at, case when status = 'rejected' then decided_at end, expires_at)))
  where status not in ('pending', 'approved') and jsonb_typeof(context -> 'body') <> 'null';
grant select (decided_at, executed_at) on approval_requests to bailiwick_worker;
