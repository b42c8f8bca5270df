-- How much a tenant adds in a day of what it could pile up (docs/retention.md). One row each, which begins anew with
-- the first count of another day: nothing has to be deleted.
create table daily_counts (
  tenant_id uuid not null references tenants (id),
  kind text not null check (kind in ('decisions', 'deliveries')),
  day date not null,
  used bigint not null check (used >= 0),
  primary key (tenant_id, kind)
);
comment on column daily_counts.day is 'In UTC';
comment on column daily_counts.used is 'Decisions: those kept. Deliveries: those wanted, so what is above the limit was not made';
alter table daily_counts enable row level security, force row level security;
create policy tenant_isolation on daily_counts for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy system_all on daily_counts for all to bailiwick_system using (true) with check (true);
create policy worker_all on daily_counts for all to bailiwick_worker using (true) with check (true);
create policy owner_all on daily_counts for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on daily_counts to bailiwick_api, bailiwick_system;
grant select, insert, update, delete on daily_counts to bailiwick_worker;
