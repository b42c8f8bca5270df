-- What directories asked over SCIM, and what they were answered.
create table directory_log (
  tenant_id uuid not null,
  id uuid not null,
  at timestamptz not null,
  method text not null check (char_length(method) <= 20),
  path text not null check (char_length(path) <= 200),
  status smallint not null,
  detail text check (char_length(detail) <= 500),
  request_id text not null check (char_length(request_id) <= 128),
  primary key (tenant_id, id)
);
comment on table directory_log is 'Requests of SCIM, for 30 days, without bodies and queries';
comment on column directory_log.detail is 'The sentence of the error; null for none. Addresses are left out';
create index directory_log_by_time on directory_log (tenant_id, at, id);
alter table directory_log enable row level security, force row level security;
select distribute_by_tenant('directory_log');
create policy tenant_isolation on directory_log for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_inserts on directory_log for insert to bailiwick_system with check (true);
create policy worker_all on directory_log for all to bailiwick_worker using (true) with check (true);
create policy owner_all on directory_log for all to bailiwick_owner using (true) with check (true);
grant select on directory_log to bailiwick_api;
grant insert on directory_log to bailiwick_system;
grant select (tenant_id, id, at), delete on directory_log to bailiwick_worker;
