-- A person is erased: the row of users goes and takes along what is theirs; what others keep of them is scrubbed by
-- the actor retention, by the row that is left in erasures for so long.
do $$
declare k record;
begin
  for k in select conrelid::regclass as relation, conname, pg_get_constraintdef(oid) as definition from pg_constraint
           where contype = 'f' and confrelid = 'users'::regclass and confdeltype = 'a'
  loop
    execute format('alter table %s drop constraint %I, add constraint %I %s on delete cascade',
                   k.relation, k.conname, k.conname, k.definition);
  end loop;
end $$;
create index if not exists sessions_of_person on sessions (user_id);
create index if not exists refresh_families_of_person on refresh_families (user_id);
create index if not exists link_tokens_of_person on link_tokens (user_id);
grant delete on users to bailiwick_system;

create policy system_erases on tenants for update to bailiwick_system using (true) with check (true);
grant update (name, slug, updated_at, deleted_at) on tenants to bailiwick_system;
-- By a digest, so that no list of one tenant is read by an index that all tenants share.
create index if not exists invitations_by_address on invitations (md5(email));
create policy system_erases on invitations for delete to bailiwick_system using (true);
grant delete on invitations to bailiwick_system;

create table erasures (
  user_id uuid primary key,
  email text not null,
  tenant_ids uuid[] not null,
  target_ids uuid[] not null,
  at timestamptz not null
);
comment on table erasures is 'People who were erased, until nothing that others keep names them any more';
comment on column erasures.tenant_ids is 'Where there may be something';
comment on column erasures.target_ids is 'Ids of the person, of their memberships, of invitations to them and of tenants that went along';
alter table erasures enable row level security, force row level security;
create policy system_inserts on erasures for insert to bailiwick_system with check (true);
create policy worker_all on erasures for all to bailiwick_worker using (true) with check (true);
create policy owner_all on erasures for all to bailiwick_owner using (true) with check (true);
grant insert on erasures to bailiwick_system;
grant select, delete on erasures to bailiwick_worker;

create index if not exists audit_log_of_departures on audit_log ((changes #>> '{user_id,before}')) where action = 'member:delete';
grant select (actor_id, target_id, action, changes), update (actor_email, ip, user_agent, changes) on audit_log to bailiwick_worker;
grant update (data) on events to bailiwick_worker;
grant update (subject_email, facts) on decisions to bailiwick_worker;
grant delete on mails to bailiwick_worker;
create policy worker_erases on approval_requests for update to bailiwick_worker using (true) with check (true);
create policy worker_reads on approval_requests for select to bailiwick_worker using (true);
grant select (requester_id, context), update (requester_email, context) on approval_requests to bailiwick_worker;
create policy worker_erases on approval_votes for update to bailiwick_worker using (true) with check (true);
create policy worker_reads on approval_votes for select to bailiwick_worker using (true);
grant update (approver_email, comment) on approval_votes to bailiwick_worker;
grant select (invited_by), update (invited_by_email) on invitations to bailiwick_worker;
