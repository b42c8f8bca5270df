-- Approvals: what waits for a second person, and what these said.

create table approval_requests (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  requester_id uuid not null,
  requester_email text not null,
  action text not null,
  resource_type text not null,
  resource_id text,
  digest text not null,
  context jsonb not null,
  reason text not null,
  gates jsonb not null,
  approvers jsonb not null,
  required_approvals integer not null check (required_approvals between 1 and 20),
  valid_for integer not null check (valid_for > 0),
  status text not null default 'pending'
    check (status in ('pending', 'approved', 'rejected', 'cancelled', 'expired', 'executed')),
  expires_at timestamptz not null,
  decided_at timestamptz,
  executed_at timestamptz check ((status = 'executed') = (executed_at is not null)),
  executed_decision uuid check ((status = 'executed') = (executed_decision is not null)),
  created_at timestamptz not null,
  primary key (tenant_id, id)
);
comment on table approval_requests is 'pending → approved → executed; pending → rejected; pending or approved → cancelled or expired';
comment on column approval_requests.digest is 'SHA-256 (hex) of the validated body in its canonical form (RFC 8785): the approval is for this call and no other';
comment on column approval_requests.context is 'The call, so that approvers see what they approve';
comment on column approval_requests.gates is 'The policies that asked, with their versions: an edited policy asks again';
comment on column approval_requests.approvers is 'Lists of role ids; an approver has a role of each';
comment on column approval_requests.expires_at is 'While pending: until when it can be decided. Once approved: until when it can be used';
comment on column approval_requests.executed_decision is 'The decision under which the approval was used up';
create unique index approval_requests_pending on approval_requests
  (tenant_id, requester_id, action, resource_type, resource_id, digest) nulls not distinct where status = 'pending';
comment on index approval_requests_pending is 'The same call while it is pending is the same request';
create index approval_requests_by_age on approval_requests (tenant_id, created_at, id);
create index approval_requests_of_requester on approval_requests (tenant_id, requester_id, created_at, id);
create index approval_requests_by_action on approval_requests (tenant_id, action, created_at, id);
create index approval_requests_open on approval_requests (tenant_id, created_at, id) where status = 'pending';
create index approval_requests_by_expiry on approval_requests (expires_at) where status in ('pending', 'approved');
alter table approval_requests enable row level security, force row level security;
create policy tenant_isolation on approval_requests for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
-- Of the requests of all tenants the worker sees those that can expire, and can do nothing but that to them. The new
-- row of an update has to be visible, too.
create policy worker_expires on approval_requests for all to bailiwick_worker
  using (status in ('pending', 'approved', 'expired')) with check (status = 'expired');
create policy worker_purges on approval_requests for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
create policy owner_all on approval_requests for all to bailiwick_owner using (true) with check (true);
grant select, insert on approval_requests to bailiwick_api;
grant update (status, expires_at, decided_at, executed_at, executed_decision) on approval_requests to bailiwick_api;
grant select (tenant_id, id, status, expires_at), update (status), delete on approval_requests to bailiwick_worker;

create trigger count_inserted after insert on approval_requests referencing new table as changed for each statement execute function count_inserted_rows();
create trigger count_deleted after delete on approval_requests referencing old table as changed for each statement execute function count_deleted_rows();

create table approval_votes (
  tenant_id uuid not null,
  request_id uuid not null,
  approver_id uuid not null,
  approver_email text not null,
  decision text not null check (decision in ('approve', 'reject')),
  comment text not null default '' check (char_length(comment) <= 1000),
  at timestamptz not null,
  primary key (tenant_id, request_id, approver_id),
  foreign key (tenant_id, request_id) references approval_requests (tenant_id, id) on delete cascade
);
comment on table approval_votes is 'One per person, never changed';
alter table approval_votes enable row level security, force row level security;
create policy tenant_isolation on approval_votes for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy worker_purges on approval_votes for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
create policy owner_all on approval_votes for all to bailiwick_owner using (true) with check (true);
grant select, insert on approval_votes to bailiwick_api;
grant select (tenant_id, request_id, approver_id), delete on approval_votes to bailiwick_worker;
