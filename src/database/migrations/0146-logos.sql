-- A tenant's logo is served to anyone who has its address, so mails and the pages of sign-in can show it. Its name and size stand in
-- `tenants.settings`; the bytes are here, because a change of `tenants` is one on every node of a distributed database.
create table tenant_logos (
  tenant_id uuid primary key,
  file text not null check (file ~ '^[0-9a-f]{32}\.(png|webp)$'),
  content bytea not null check (octet_length(content) between 1 and 65536)
);
comment on table tenant_logos is 'The logo of a tenant, as it was sent';
comment on column tenant_logos.file is 'Digest of the content, with the ending of its media type: a part of its public address';
alter table tenant_logos enable row level security, force row level security;
select distribute_by_tenant('tenant_logos');
alter table tenant_logos add foreign key (tenant_id) references tenants (id);
create policy tenant_isolation on tenant_logos for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_purges on tenant_logos for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on tenant_logos for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on tenant_logos to bailiwick_api;
grant select (tenant_id), delete on tenant_logos to bailiwick_worker;
