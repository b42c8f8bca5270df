-- For later migrations: after `create table notes (…)` and before its foreign keys to tables of tenants, a migration says
--   select distribute_by_tenant('notes');
-- On one Postgres that does nothing. On a distributed one (npm run cli -- distribute) a table on the coordinator cannot refer
-- to a distributed one, so the table has to be distributed first.
create function distribute_by_tenant(relation regclass) returns void language plpgsql set search_path = pg_catalog as $$
begin
  if exists (select from pg_extension where extname = 'citus') then
    if exists (select from pg_dist_partition where logicalrelid = 'public.roles'::regclass and partmethod = 'h') then
      perform create_distributed_table(relation, 'tenant_id', colocate_with => 'public.roles');
    end if;
  end if;
end $$;
comment on function distribute_by_tenant(regclass) is 'Spreads a new table of tenants over the nodes of a distributed database; else does nothing';
revoke all on function distribute_by_tenant(regclass) from public;
