-- What was decided, about whom, and why.

create table decisions (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  at timestamptz not null,
  effect text not null check (effect in ('allow', 'deny', 'require_approval')),
  action text not null,
  resource_type text not null,
  resource_id text,
  subject_id text not null,
  subject_email text,
  reasons jsonb not null,
  matched jsonb not null,
  obligations jsonb not null,
  policy_revision bigint not null,
  engine_revision text not null,
  facts jsonb not null,
  duration_us integer not null,
  request_id text not null,
  primary key (tenant_id, id)
);
comment on table decisions is 'Denials, gates and changes always, allowed reads as a sample; deleted after the retention';
comment on column decisions.subject_id is 'A person''s id, or what an application calls its subject';
comment on column decisions.facts is 'The question as the engine was asked, so that it can be explained and asked again; never a secret';
create index decisions_by_time on decisions (tenant_id, at, id);
create index decisions_of_subject on decisions (tenant_id, subject_id, at, id);
create index decisions_by_action on decisions (tenant_id, action, at, id);
alter table decisions enable row level security, force row level security;
create policy tenant_isolation on decisions for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy system_inserts on decisions for insert to bailiwick_system with check (true);
create policy worker_all on decisions for all to bailiwick_worker using (true) with check (true);
create policy owner_all on decisions for all to bailiwick_owner using (true) with check (true);
grant select on decisions to bailiwick_api;
grant insert on decisions to bailiwick_system;
grant select, delete on decisions to bailiwick_worker;
