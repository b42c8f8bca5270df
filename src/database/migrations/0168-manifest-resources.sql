-- The APIs of applications that manifests have: access tokens of every tenant can be for them (RFC 8707).
create table manifest_resources (
  identifier text primary key check (char_length(identifier) between 1 and 2000),
  application text not null,
  name text not null check (char_length(name) between 1 and 120),
  scopes jsonb not null check (jsonb_typeof(scopes) = 'array'),
  client_ids uuid[] not null check (cardinality(client_ids) <= 50)
);
comment on table manifest_resources is 'The APIs of applications, from manifests. A row ends when its resource leaves the manifest';
comment on column manifest_resources.identifier is 'The audience of the tokens: an absolute URI. It goes before the same one of a tenant';
comment on column manifest_resources.scopes is 'A list of {permission, description}: a person who consents reads the description';
comment on column manifest_resources.client_ids is 'The clients of the same manifest that can introspect its tokens';
alter table manifest_resources enable row level security, force row level security;
create policy every_tenant_reads on manifest_resources for select to bailiwick_api
  using (nullif(current_setting('app.tenant_id', true), '') is not null);
create policy system_all on manifest_resources for all to bailiwick_system using (true) with check (true);
create policy owner_all on manifest_resources for all to bailiwick_owner using (true) with check (true);
grant select on manifest_resources to bailiwick_api;
grant select, insert, delete on manifest_resources to bailiwick_system;
