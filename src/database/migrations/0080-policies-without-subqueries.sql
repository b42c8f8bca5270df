-- Policies without subqueries, because a distributed Postgres (Citus) accepts no others. The meaning is the same: the
-- setting is read once per scan of an index, and no longer once per statement by a subplan of its own
-- (docs/adr/0012-one-schema-for-citus.md has the measurement).
--
-- A migration that runs before this one can still use the forms of 0001 and 0005. Later ones write:
--   using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid) with check (the same)
--   create policy worker_purges on <table> for all to bailiwick_worker
--     using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
--
-- worker_purges was "the tenant is deleted". Now it is "the tenant that this transaction purges": the purge sets
-- app.purged_tenant_id in the statement that finds the tenant deleted, and nothing else sets it.

do $$
declare p record;
begin
  for p in
    select polrelid::regclass as relation, polname, pg_get_expr(polqual, polrelid) as shown, pg_get_expr(polwithcheck, polrelid) as written
    from pg_policy join pg_class c on c.oid = polrelid
    where relnamespace = 'public'::regnamespace and polname <> 'fellow_members'
  loop
    if p.shown ~ 'IN \( SELECT t\.id' and p.polname = 'worker_purges' then
      execute format('alter policy worker_purges on %s using (tenant_id = nullif(current_setting(''app.purged_tenant_id'', true), '''')::uuid)', p.relation);
    elsif concat(p.shown, p.written) ~ 'SELECT' then
      execute format('alter policy %I on %s%s%s', p.polname, p.relation,
        ' using (' || regexp_replace(p.shown, '\( SELECT (\(NULLIF\(current_setting\(''[a-z._]+''::text, true\), ''''::text\)\)::uuid) AS "nullif"\)', '\1', 'g') || ')',
        ' with check (' || regexp_replace(p.written, '\( SELECT (\(NULLIF\(current_setting\(''[a-z._]+''::text, true\), ''''::text\)\)::uuid) AS "nullif"\)', '\1', 'g') || ')');
    end if;
  end loop;
end $$;
