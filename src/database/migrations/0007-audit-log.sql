-- Who did what, when and from where: written in the transaction of the deed, never changed, kept as long as the
-- tenant. Events tell other programs that something happened; these rows tell people who did it.

create table audit_log (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  at timestamptz not null,
  actor_type text not null check (actor_type in ('user', 'system')),
  actor_id uuid,
  actor_email text,
  action text not null,
  target_type text not null,
  target_id uuid not null,
  ip text not null,
  user_agent text not null,
  request_id text not null,
  decision_id uuid,
  changes jsonb not null,
  primary key (tenant_id, id)
);
comment on column audit_log.actor_id is 'The person, without a foreign key: the row outlives them; null where the service acted by itself';
comment on column audit_log.actor_email is 'As it was then';
comment on column audit_log.changes is 'By field {before, after}, never a secret';
create index audit_log_by_time on audit_log (tenant_id, at, id);
create index audit_log_by_action on audit_log (tenant_id, action, at, id);
create index audit_log_by_actor on audit_log (tenant_id, actor_id, at, id);
create index audit_log_by_target on audit_log (tenant_id, target_id, at, id);
alter table audit_log enable row level security, force row level security;
create policy tenant_isolation on audit_log for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
create policy system_inserts on audit_log for insert to bailiwick_system with check (true);
create policy worker_inserts on audit_log for insert to bailiwick_worker with check (true);
create policy worker_purges on audit_log for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
create policy owner_all on audit_log for all to bailiwick_owner using (true) with check (true);
grant select, insert on audit_log to bailiwick_api;
grant insert on audit_log to bailiwick_system, bailiwick_worker;
grant select (tenant_id, id), delete on audit_log to bailiwick_worker;
