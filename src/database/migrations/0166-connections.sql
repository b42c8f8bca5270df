-- Identity providers of tenants. They are on the coordinator of a cluster: a sign-in names a connection before its tenant is known.
create table connections (
  tenant_id uuid not null references tenants (id),
  id uuid not null,
  name text not null check (char_length(name) between 1 and 120),
  kind text not null check (kind in ('oidc', 'saml')),
  status text not null check (status in ('draft', 'active', 'disabled')),
  config jsonb not null check (jsonb_typeof(config) = 'object'),
  client_secret_sealed bytea,
  subject_attribute text not null check (char_length(subject_attribute) between 1 and 200),
  mapping jsonb not null check (jsonb_typeof(mapping) = 'array'),
  jit text not null check (jit in ('off', 'verified_domains')),
  trusts_mfa boolean not null,
  directory_subject text check (directory_subject in ('external_id', 'user_name')),
  tested_by uuid,
  tested_at timestamptz,
  activated_by uuid,
  activated_at timestamptz,
  activator jsonb,
  created_by uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version bigint not null default 1,
  primary key (tenant_id, id),
  constraint connections_id_key unique (id),
  check ((kind = 'oidc') = (client_secret_sealed is not null)),
  check (status <> 'active' or (activated_by is not null and activator is not null))
);
comment on table connections is 'Identity providers of tenants, by which people of the tenant sign in';
comment on column connections.config is 'Of the protocol, without secrets: issuer, client_id and scopes of OpenID Connect';
comment on column connections.subject_attribute is 'The claim or attribute that says who a person is there';
comment on column connections.mapping is 'A list of {claim, value, roles, department_id}: who has the value gets these roles, by id, and the department';
comment on column connections.tested_by is 'Who signed in by it last, as it is now, to try it';
comment on column connections.activator is 'What the person who activated it held then: {systemRoles, permissions}. It signs in no one who holds more';
comment on column connections.created_by is 'Who made it, without a foreign key: it outlives them, as do tested_by and activated_by';
create index connections_by_age on connections (tenant_id, created_at, id);
alter table connections enable row level security, force row level security;
create policy tenant_isolation on connections for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy system_reads on connections for select to bailiwick_system using (true);
create policy system_seals on connections for update to bailiwick_system using (true) with check (true);
create policy worker_purges on connections for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on connections for all to bailiwick_owner using (true) with check (true);
grant select (tenant_id, id, name, kind, status, config, subject_attribute, mapping, jit, trusts_mfa, directory_subject, tested_by,
  tested_at, activated_by, activated_at, created_at, version), insert, update, delete on connections to bailiwick_api;
grant select, update (client_secret_sealed, tested_by, tested_at, version) on connections to bailiwick_system;
grant select (tenant_id, id), delete on connections to bailiwick_worker;
