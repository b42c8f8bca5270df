-- Mails belong to a tenant, also those to a person whose tenants were all deleted or taken away.
alter table users add column own_tenant_id uuid;
comment on column users.own_tenant_id is
  'The tenant that was made at own_tenant_made_at: its mails reach the person, whatever became of it since';
grant select (own_tenant_id), update (own_tenant_id) on users to bailiwick_api;
grant update (own_tenant_made_at) on users to bailiwick_system;
