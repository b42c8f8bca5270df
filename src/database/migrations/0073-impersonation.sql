-- Who acted as the actor. The scope of a transaction names them (src/platform/db/tx.ts), and the defaults copy it into
-- each row, so that no code that writes a row can leave it out.
alter table audit_log
  add column impersonator_id uuid default nullif(current_setting('app.impersonator_id', true), '')::uuid,
  add column impersonator_email text default nullif(current_setting('app.impersonator_email', true), '');
comment on column audit_log.impersonator_id is 'The member who acted as the actor; null where no one did';
comment on column audit_log.impersonator_email is 'As it was then';
create index if not exists audit_log_by_impersonator on audit_log (tenant_id, impersonator_id, at, id) where impersonator_id is not null;
grant select (impersonator_id), update (impersonator_email) on audit_log to bailiwick_worker;
alter table events
  add column impersonator_id uuid default nullif(current_setting('app.impersonator_id', true), '')::uuid;
comment on column events.impersonator_id is 'The member who acted as the actor; null where no one did';
