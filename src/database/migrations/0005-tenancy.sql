-- The end of a tenant: a worker erases what was deleted long ago. It sees the rows of deleted tenants alone, and of
-- those no more than their keys. Each later table with a tenant_id says the same two lines:
--   create policy worker_purges on <table> for all to bailiwick_worker
--     using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
--   grant select (<primary key>), delete on <table> to bailiwick_worker;
-- and a test that walks the catalogue fails until it does.

create index tenants_deleted on tenants (deleted_at, id) where deleted_at is not null;
create policy worker_purges on tenants for delete to bailiwick_worker using (deleted_at is not null);
grant delete on tenants to bailiwick_worker;

create policy worker_purges on roles for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
grant select (tenant_id, id), delete on roles to bailiwick_worker;

create policy worker_purges on departments for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
grant select (tenant_id, id, parent_id), delete on departments to bailiwick_worker;

create policy worker_purges on memberships for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
grant select (tenant_id, id), delete on memberships to bailiwick_worker;

create policy worker_purges on membership_roles for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
grant select (tenant_id, membership_id, role_id), delete on membership_roles to bailiwick_worker;

create policy worker_purges on sessions for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
grant select (tenant_id, id), delete on sessions to bailiwick_worker;
create index sessions_of_tenant on sessions (tenant_id, id);

create policy worker_purges on refresh_families for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
grant select (tenant_id, id), delete on refresh_families to bailiwick_worker;
create index refresh_families_of_tenant on refresh_families (tenant_id, id);

create policy worker_purges on link_tokens for all to bailiwick_worker
  using (tenant_id in (select t.id from tenants t where t.deleted_at is not null));
grant select (tenant_id, id), delete on link_tokens to bailiwick_worker;
create index link_tokens_of_tenant on link_tokens (tenant_id, id);

-- The worker sees all of these already; it only could not delete them.
grant delete on events, event_sequences, mails, row_counts to bailiwick_worker;

-- Lists in their order, led by the tenant.
create index roles_by_age on roles (tenant_id, created_at, id);
