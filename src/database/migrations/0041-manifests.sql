-- Manifests: the rules that an application gives every tenant. An operator applies them (manifest:apply). A tenant holds
-- copies of them among its own roles, attribute definitions and policies, so it is decided, isolated and explained as
-- before; managed_by says which application a copy comes from. tenants.manifest_revision says which revision a tenant
-- has: a tenant below the newest is brought up to date in a transaction of its own, so a run that ends early continues.

create table manifests (
  application text not null check (application ~ '^[a-z][a-z0-9_-]{0,62}$'),
  version integer not null check (version > 0),
  revision bigint not null check (revision > 0),
  document jsonb not null,
  compiled jsonb not null,
  checksum text not null,
  created_at timestamptz not null,
  primary key (application, version)
);
comment on table manifests is 'Every version of every application''s manifest; the highest version counts. Of no tenant: all tenants have the same rules';
comment on column manifests.revision is 'Grows with every version of any application; tenants.manifest_revision follows it';
comment on column manifests.document is 'As its author wrote it, with defaults';
comment on column manifests.compiled is 'What is copied into a tenant: policies as the engine reads them, with roles by name';
comment on column manifests.checksum is 'SHA-256 (hex) of the canonical document: the same again changes nothing';
alter table manifests enable row level security, force row level security;
create policy every_tenant_reads on manifests for select to bailiwick_api
  using (nullif(current_setting('app.tenant_id', true), '') is not null);
create policy system_all on manifests for all to bailiwick_system using (true) with check (true);
create policy owner_all on manifests for all to bailiwick_owner using (true) with check (true);
grant select on manifests to bailiwick_api;
grant select, insert on manifests to bailiwick_system;

alter table tenants add column manifest_revision bigint not null default 0;
comment on column tenants.manifest_revision is 'The revision of the manifests whose rules the tenant has';
create index tenants_by_manifest on tenants (manifest_revision, id) where deleted_at is null;

alter table roles add column managed_by text, add column managed_as text,
  add constraint roles_managed check ((managed_by is null) = (managed_as is null));
comment on column roles.managed_by is 'The application whose manifest gave the tenant this role; null for its own';
create unique index roles_by_manifest on roles (tenant_id, managed_by, managed_as) where managed_by is not null;

alter table attribute_definitions add column managed_by text;
comment on column attribute_definitions.managed_by is 'The application whose manifest gave the tenant this definition; null for its own';
grant update (display_name, allowed_values, is_required, description, managed_by) on attribute_definitions to bailiwick_api;

alter table policies add column managed_by text, add column managed_as text,
  add column is_optional boolean not null default false, add column chosen_active boolean,
  add constraint policies_managed check ((managed_by is null) = (managed_as is null));
comment on column policies.managed_by is 'The application whose manifest gave the tenant this policy; null for its own';
comment on column policies.is_optional is 'Of a managed policy: the tenant can turn it on and off';
comment on column policies.chosen_active is 'What the tenant chose for an optional policy; null: as the manifest says';
create unique index policies_by_manifest on policies (tenant_id, managed_by, managed_as) where managed_by is not null;
