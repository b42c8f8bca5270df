-- A call that waits for an approval and that a worker carries out when it is approved (Prefer: respond-async).
create table stored_calls (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  call_sealed bytea not null,
  created_at timestamptz not null,
  primary key (tenant_id, id),
  foreign key (tenant_id, id) references approval_requests (tenant_id, id) on delete cascade
);
comment on table stored_calls is 'Calls that a worker carries out when they are approved; deleted when their approval request ends';
comment on column stored_calls.id is 'The id of the approval request';
comment on column stored_calls.call_sealed is 'Route, parameters, body, If-Match and session of the requester, encrypted';
alter table stored_calls enable row level security, force row level security;
create policy tenant_isolation on stored_calls for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy worker_all on stored_calls for all to bailiwick_worker using (true) with check (true);
create policy owner_all on stored_calls for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on stored_calls to bailiwick_api;
grant select (tenant_id, id, call_sealed), update (call_sealed), delete on stored_calls to bailiwick_worker;

alter table approval_requests add column execution_status text check (execution_status in ('pending', 'succeeded', 'failed')),
  add column execution_http_status integer, add column execution_problem jsonb;
comment on column approval_requests.execution_status is 'Of a stored call; null: the requester repeats the call';
comment on column approval_requests.execution_problem is 'The problem document (RFC 9457) of a stored call that failed';
grant update (execution_status, execution_http_status, execution_problem) on approval_requests to bailiwick_api;
