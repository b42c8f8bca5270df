-- Applications that sign people of every tenant in. A manifest has them, so they belong to no tenant; a grant says of which tenant it is.
create table manifest_clients (
  id uuid primary key,
  application text not null,
  key text not null,
  fields jsonb not null,
  is_active boolean not null,
  consents_from timestamptz not null,
  created_at timestamptz not null,
  last_used_at timestamptz
);
comment on table manifest_clients is 'Applications that sign people of every tenant in, from manifests. A row stays when its client leaves the manifest';
comment on column manifest_clients.id is 'Derived from application and key, of version 8 (RFC 9562)';
comment on column manifest_clients.fields is 'As in the manifest; the rest is as the kind of client needs it';
comment on column manifest_clients.is_active is 'False since it left the manifest';
comment on column manifest_clients.consents_from is 'Earlier consents are void: redirect URIs or scopes have changed since';
comment on column manifest_clients.last_used_at is 'To the minute';
alter table manifest_clients enable row level security, force row level security;
create policy every_tenant_reads on manifest_clients for select to bailiwick_api
  using (nullif(current_setting('app.tenant_id', true), '') is not null);
create policy system_all on manifest_clients for all to bailiwick_system using (true) with check (true);
create policy owner_all on manifest_clients for all to bailiwick_owner using (true) with check (true);
grant select on manifest_clients to bailiwick_api;
grant select, insert, update on manifest_clients to bailiwick_system;

create table manifest_client_secrets (
  id uuid primary key,
  client_id uuid not null references manifest_clients (id) on delete cascade,
  secret_hash bytea not null check (octet_length(secret_hash) = 32),
  created_at timestamptz not null,
  last_used_at timestamptz
);
comment on table manifest_client_secrets is 'The secrets of clients of manifests: two at a time, so that one can replace the other';
comment on column manifest_client_secrets.secret_hash is 'SHA-256 of the whole secret';
comment on column manifest_client_secrets.last_used_at is 'To the minute';
create index manifest_client_secrets_of_client on manifest_client_secrets (client_id, created_at, id);
alter table manifest_client_secrets enable row level security, force row level security;
create policy every_tenant_reads on manifest_client_secrets for select to bailiwick_api
  using (nullif(current_setting('app.tenant_id', true), '') is not null);
create policy system_all on manifest_client_secrets for all to bailiwick_system using (true) with check (true);
create policy owner_all on manifest_client_secrets for all to bailiwick_owner using (true) with check (true);
grant select on manifest_client_secrets to bailiwick_api;
grant select, insert, update (last_used_at), delete on manifest_client_secrets to bailiwick_system;

-- A request under way is of no tenant before its person has chosen one.
alter table oauth_models alter column tenant_id drop not null;
