-- 0109 forces row-level security after it distributes the table, and Citus cannot move such a table to another node.
do $$
begin
  if exists (select from pg_extension where extname = 'citus') then
    if exists (select from pg_dist_partition where logicalrelid = 'public.log_counts'::regclass and partmethod = 'h') then
      alter table log_counts no force row level security;
    end if;
  end if;
end $$;
