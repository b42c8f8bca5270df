-- What belongs to no feature: who may use the schema, and how many rows a tenant has.
--
-- These files show each table as it was in release 0.2, whose migrations they replace; later changes are in ../migrations. A fresh
-- database runs them in the order of ../migrate/baseline.ts, in one transaction.
--
-- Row-level security is enabled and forced on each table. The role bailiwick_api has two forms of policies:
--   tenant form  tenant_id = the transaction's app.tenant_id
--   user form    user_id   = the transaction's app.user_id
-- What bailiwick_system, bailiwick_worker and bailiwick_owner see across tenants has a policy of its own per table. The frozen list is
-- src/database/isolation/isolation-policies.ts: the service does not start when the catalogue differs from it. Policies have no
-- subqueries and tables no triggers, because a distributed Postgres (Citus) takes neither: docs/adr/0012-one-schema-for-citus.md.
--
-- A purge erases a tenant that was deleted long ago. It names the tenant in app.purged_tenant_id, in the statement that finds it
-- deleted, and nothing else sets that. So most tables of tenants have a policy worker_purges, and show the worker their keys only.

grant usage on schema public to bailiwick_api, bailiwick_system, bailiwick_worker;
revoke create on schema public from public;

-- Lists answer their count from here, without a scan.
create table row_counts (
  tenant_id uuid not null,
  relation text not null,
  rows bigint not null,
  primary key (tenant_id, relation)
);
comment on table row_counts is 'How many rows a tenant has in a table: each statement that inserts or deletes them counts';
alter table row_counts enable row level security, force row level security;
create policy tenant_isolation on row_counts for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_all on row_counts for all to bailiwick_system using (true) with check (true);
create policy worker_all on row_counts for all to bailiwick_worker using (true) with check (true);
create policy owner_all on row_counts for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on row_counts to bailiwick_api, bailiwick_system, bailiwick_worker;
grant delete on row_counts to bailiwick_worker;

-- How much a tenant adds in a day of what it could pile up (docs/reference/retention.md). One row each, which starts again with the
-- first count of another day, so nothing has to be deleted.
create table daily_counts (
  tenant_id uuid not null,
  kind text not null check (kind in ('decisions', 'deliveries')),
  day date not null,
  used bigint not null check (used >= 0),
  primary key (tenant_id, kind)
);
comment on column daily_counts.day is 'In UTC';
comment on column daily_counts.used is 'Decisions: those kept. Deliveries: those wanted, so what is above the limit was not made';
alter table daily_counts enable row level security, force row level security;
create policy tenant_isolation on daily_counts for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_all on daily_counts for all to bailiwick_system using (true) with check (true);
create policy worker_all on daily_counts for all to bailiwick_worker using (true) with check (true);
create policy owner_all on daily_counts for all to bailiwick_owner using (true) with check (true);
grant select, insert, update on daily_counts to bailiwick_api, bailiwick_system;
grant select, insert, update, delete on daily_counts to bailiwick_worker;

-- The row is written in the transaction of the call's effect, so either both exist or neither. It is the person's, because a call can
-- create a tenant, and the tenant of the token must not limit that.
create table idempotency_keys (
  tenant_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  body_digest bytea not null check (octet_length(body_digest) = 32),
  answer_sealed bytea not null,
  expires_at timestamptz not null,
  primary key (tenant_id, id)
);
comment on table idempotency_keys is 'Answers that a repeated call gets again, for a day';
comment on column idempotency_keys.tenant_id is 'The tenant of the token';
comment on column idempotency_keys.id is 'Digest of the caller, the route and the Idempotency-Key';
comment on column idempotency_keys.user_id is 'The caller, without a foreign key: a service account is no user';
comment on column idempotency_keys.body_digest is 'SHA-256 of the body and the parameters of the path';
create index idempotency_keys_by_expiry on idempotency_keys (tenant_id, expires_at);
alter table idempotency_keys enable row level security, force row level security;
create policy own_rows on idempotency_keys for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
create policy worker_all on idempotency_keys for all to bailiwick_worker using (true) with check (true);
create policy owner_all on idempotency_keys for all to bailiwick_owner using (true) with check (true);
grant select, insert, delete on idempotency_keys to bailiwick_api;
grant select (tenant_id, id, expires_at, answer_sealed), update (answer_sealed), delete on idempotency_keys to bailiwick_worker;

-- For migrations: after `create table notes (…)` and its row-level security, and before its foreign keys to tables of tenants:
--   select distribute_by_tenant('notes');
-- On one Postgres that does nothing. On a distributed one (npm run cli -- distribute) a table on the coordinator cannot refer
-- to a distributed one, so the table has to be distributed first. Citus cannot move a table to another node while row-level security
-- is forced on its owner, who sees all rows by `owner_all`.
create function distribute_by_tenant(relation regclass) returns void language plpgsql set search_path = pg_catalog as $$
declare
  name text := relation::text;
begin
  if exists (select from pg_extension where extname = 'citus') then
    if exists (select from pg_dist_partition where logicalrelid = 'public.roles'::regclass and partmethod = 'h') then
      perform create_distributed_table(relation, 'tenant_id', colocate_with => 'public.roles');
      execute format('alter table %s no force row level security', name);
    end if;
  end if;
end $$;
comment on function distribute_by_tenant(regclass) is 'Spreads a new table of tenants over the nodes of a distributed database; else does nothing';
revoke all on function distribute_by_tenant(regclass) from public;
