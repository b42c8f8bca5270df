-- A person reads their own memberships in all tenants with the rest of a request, in the scope of one tenant. The
-- function is the one way of the API role past its tenant. It takes no argument: it sees what app.user_id names.
create function own_memberships()
  returns table (tenant_id uuid, tenant_name text, tenant_slug text, tenant_status text, membership_status text, roles text[])
  language plpgsql stable security definer set search_path = pg_catalog
as $$
begin
  return query
    select t.id, t.name, t.slug, t.status, m.status,
           array(select r.name from public.membership_roles mr
                 join public.roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
                 where mr.tenant_id = m.tenant_id and mr.membership_id = m.id order by r.created_at, r.id)
    from public.memberships m
    join public.tenants t on t.id = m.tenant_id and t.deleted_at is null
    where m.user_id = nullif(current_setting('app.user_id', true), '')::uuid
    order by m.last_entered_at desc nulls last, m.joined_at, m.id;
end $$;
comment on function own_memberships() is 'The memberships of the person in app.user_id, in all tenants that are not deleted';
revoke all on function own_memberships() from public;
grant execute on function own_memberships() to bailiwick_api;
