-- In which tenants a person is a member. On a distributed database `memberships` is spread by tenant, so a search by person
-- would ask every node. This table stays on the coordinator and says where to look; `memberships` alone says what a person is
-- there. A row too many is harmless: the membership is not found.
create table person_memberships (
  tenant_id uuid not null references tenants (id),
  user_id uuid not null references users (id) on delete cascade,
  primary key (tenant_id, user_id)
);
comment on table person_memberships is 'Which tenants each person belongs to: each statement that inserts or deletes a membership of a person does the same here';
create index person_memberships_of_user on person_memberships (user_id, tenant_id);
alter table person_memberships enable row level security, force row level security;
create policy tenant_isolation on person_memberships for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_reads on person_memberships for select to bailiwick_system using (true);
create policy worker_purges on person_memberships for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on person_memberships for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on person_memberships to bailiwick_api;
grant select on person_memberships to bailiwick_system;
grant select (tenant_id, user_id), delete on person_memberships to bailiwick_worker;
insert into person_memberships (tenant_id, user_id)
  select tenant_id, user_id from memberships where user_id is not null on conflict do nothing;

-- On one Postgres it reads `memberships` by its index, and becomes a part of the statement that calls it. `distribute`
-- (src/platform/db/distribute.ts) replaces it by one that looks into person_memberships first.
create function memberships_of(person uuid)
  returns table (tenant_id uuid, membership_id uuid, status text, joined_at timestamptz, last_entered_at timestamptz,
                 sessions_ended_at timestamptz, roles text[], is_owner boolean, member_count bigint)
  language sql stable
as $$
  select m.tenant_id, m.id, m.status, m.joined_at, m.last_entered_at, m.sessions_ended_at, r.roles, r.is_owner,
         coalesce((select c.rows from public.row_counts c where c.tenant_id = m.tenant_id and c.relation = 'memberships'), 0)
  from public.memberships m
  cross join lateral (
    select coalesce(array_agg(r.name order by r.created_at, r.id), '{}') as roles,
           coalesce(bool_or(r.is_system and r.name = 'owner'), false) as is_owner
    from public.membership_roles mr join public.roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
    where mr.tenant_id = m.tenant_id and mr.membership_id = m.id) r
  where m.user_id = person
$$;
comment on function memberships_of(uuid) is 'The memberships of a person, also in deleted tenants';
revoke all on function memberships_of(uuid) from public;
grant execute on function memberships_of(uuid) to bailiwick_system;

create or replace function own_memberships()
  returns table (tenant_id uuid, tenant_name text, tenant_slug text, tenant_status text, membership_status text, roles text[])
  language plpgsql stable security definer set search_path = pg_catalog
as $$
begin
  return query
    select t.id, t.name, t.slug, t.status, m.status, m.roles
    from public.memberships_of(nullif(current_setting('app.user_id', true), '')::uuid) m
    join public.tenants t on t.id = m.tenant_id and t.deleted_at is null
    order by m.last_entered_at desc nulls last, m.joined_at, m.membership_id;
end $$;
