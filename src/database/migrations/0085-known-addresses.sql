-- Citus takes no subquery in the "on conflict … where" of a statement that names a table which is on every node (users). In
-- a function it is a statement of its own, which the coordinator answers alone.
create function has_signed_in_from(person text, place text) returns boolean
language sql stable set search_path = pg_catalog, public
as $$
  select exists (select 1 from public.sign_in_places p join public.users u on u.id = p.user_id
                 where u.email = person and p.address = place)
$$;
comment on function has_signed_in_from is 'Whether the person with this address of mail has signed in from this network address before';
revoke all on function has_signed_in_from from public;
grant execute on function has_signed_in_from to bailiwick_system;
