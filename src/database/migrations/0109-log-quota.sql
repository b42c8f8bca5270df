-- How many bytes a tenant's changes add in a day to its logs and histories, and each person's among them
-- (docs/reference/retention.md). One row each, which starts again with the first change of another day.
create table log_counts (
  tenant_id uuid not null,
  user_id uuid not null,
  day date not null,
  used bigint not null check (used >= 0),
  most bigint,
  primary key (tenant_id, user_id),
  constraint log_counts_within_limit check (used <= most)
);
comment on table log_counts is 'Bytes of versions, audit rows, events and approval requests that changes of a day wrote';
comment on column log_counts.user_id is 'Who made the changes; the nil UUID for those of all of the tenant';
comment on column log_counts.day is 'In UTC';
comment on column log_counts.most is 'The limit of the last change; null if it was one that is never refused';
select distribute_by_tenant('log_counts');
alter table log_counts add foreign key (tenant_id) references tenants (id);
alter table log_counts enable row level security, force row level security;
create policy tenant_isolation on log_counts for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_all on log_counts for all to bailiwick_system using (true) with check (true);
create policy worker_all on log_counts for all to bailiwick_worker using (true) with check (true);
create policy owner_all on log_counts for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on log_counts to bailiwick_api, bailiwick_system;
grant select (tenant_id, user_id, day), delete on log_counts to bailiwick_worker;
create index log_counts_by_day on log_counts (day);
