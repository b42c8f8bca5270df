-- What is kept for a time and then deleted by the actor retention (docs/reference/retention.md).

-- Readers of the feed learn from this that events behind their place are gone, also where none is left.
alter table event_sequences add column deleted_up_to bigint not null default 0;
comment on column event_sequences.deleted_up_to is 'Highest sequence that was deleted after EVENT_RETENTION_DAYS: the feed begins behind it';
create policy tenant_isolation on event_sequences for all to bailiwick_api
  using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::uuid));
grant select (tenant_id, deleted_up_to) on event_sequences to bailiwick_api;

-- The worker deletes audit rows of living tenants, too, and still reads no more than when they were written.
create policy worker_all on audit_log for all to bailiwick_worker using (true) with check (true);
drop policy worker_inserts on audit_log;
drop policy worker_purges on audit_log;
grant select (at) on audit_log to bailiwick_worker;
comment on table audit_log is 'Never changed; deleted after AUDIT_RETENTION_DAYS';

create index if not exists sign_in_places_by_age on sign_in_places (last_at);
create policy worker_all on sign_in_places for all to bailiwick_worker using (true) with check (true);
grant select (user_id, address, device, last_at), delete on sign_in_places to bailiwick_worker;
