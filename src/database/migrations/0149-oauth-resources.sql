-- Resource servers of a tenant: the APIs of its applications that access tokens are for (RFC 8707).
create table oauth_resources (
  tenant_id uuid not null,
  id uuid not null,
  identifier text not null check (char_length(identifier) between 1 and 2000),
  name text not null check (char_length(name) between 1 and 120),
  scopes jsonb not null check (jsonb_typeof(scopes) = 'array'),
  client_ids uuid[] not null check (cardinality(client_ids) <= 50),
  created_by uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version bigint not null default 1,
  primary key (tenant_id, id),
  unique (tenant_id, identifier)
);
comment on table oauth_resources is 'The APIs of a tenant that access tokens are for (RFC 8707), each with what can be granted there';
comment on column oauth_resources.identifier is 'The audience of the tokens: an absolute URI';
comment on column oauth_resources.scopes is 'A list of {permission, description}: a person who consents reads the description';
comment on column oauth_resources.client_ids is 'The clients that can introspect its tokens; deleted ones stay named';
comment on column oauth_resources.created_by is 'Who made it, without a foreign key: it outlives them';
create index oauth_resources_by_age on oauth_resources (tenant_id, created_at, id);
alter table oauth_resources enable row level security, force row level security;
select distribute_by_tenant('oauth_resources');
alter table oauth_resources add foreign key (tenant_id) references tenants (id);
create policy tenant_isolation on oauth_resources for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_purges on oauth_resources for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on oauth_resources for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on oauth_resources to bailiwick_api;
grant select (tenant_id, id), delete on oauth_resources to bailiwick_worker;
