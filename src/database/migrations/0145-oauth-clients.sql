-- Applications that sign people in with OpenID Connect. A client belongs to a tenant, and its id names both.
create table oauth_clients (
  tenant_id uuid not null,
  id uuid not null,
  name text not null check (char_length(name) between 1 and 120),
  kind text not null check (kind in ('web', 'spa', 'native')),
  redirect_uris text[] not null check (cardinality(redirect_uris) between 1 and 50),
  post_logout_redirect_uris text[] not null check (cardinality(post_logout_redirect_uris) <= 50),
  scopes text[] not null check (cardinality(scopes) between 1 and 100),
  grant_types text[] not null,
  token_endpoint_auth_method text not null
    check (token_endpoint_auth_method in ('client_secret_basic', 'client_secret_post', 'none')),
  id_token_signed_response_alg text not null check (id_token_signed_response_alg in ('RS256', 'ES256', 'EdDSA')),
  require_pkce boolean not null,
  first_party boolean not null,
  groups text check (groups in ('roles', 'departments', 'both')),
  is_active boolean not null,
  consents_from timestamptz not null,
  created_by uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  last_used_at timestamptz,
  version bigint not null default 1,
  primary key (tenant_id, id)
);
comment on table oauth_clients is 'Applications that sign people in (OpenID Connect), each of one tenant';
comment on column oauth_clients.first_party is 'People are not asked for their consent';
comment on column oauth_clients.consents_from is 'Earlier consents are void: redirect URIs or scopes have changed since';
comment on column oauth_clients.created_by is 'Who made it, without a foreign key: it outlives them';
comment on column oauth_clients.last_used_at is 'To the minute';
create index oauth_clients_by_age on oauth_clients (tenant_id, created_at, id);
alter table oauth_clients enable row level security, force row level security;
select distribute_by_tenant('oauth_clients');
alter table oauth_clients add foreign key (tenant_id) references tenants (id);
create policy tenant_isolation on oauth_clients for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_purges on oauth_clients for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on oauth_clients for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on oauth_clients to bailiwick_api;
grant select (tenant_id, id), delete on oauth_clients to bailiwick_worker;

create table oauth_client_secrets (
  tenant_id uuid not null,
  id uuid not null,
  client_id uuid not null,
  secret_hash bytea not null check (octet_length(secret_hash) = 32),
  created_by uuid not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  primary key (tenant_id, id)
);
comment on table oauth_client_secrets is 'The secrets of confidential clients: two at a time, so that one can replace the other';
comment on column oauth_client_secrets.secret_hash is 'SHA-256 of the whole secret';
comment on column oauth_client_secrets.created_by is 'Who made it, without a foreign key: it outlives them';
comment on column oauth_client_secrets.last_used_at is 'To the minute';
create index oauth_client_secrets_of_client on oauth_client_secrets (tenant_id, client_id, created_at, id);
alter table oauth_client_secrets enable row level security, force row level security;
select distribute_by_tenant('oauth_client_secrets');
alter table oauth_client_secrets add foreign key (tenant_id) references tenants (id);
alter table oauth_client_secrets add foreign key (tenant_id, client_id) references oauth_clients (tenant_id, id) on delete cascade;
create policy tenant_isolation on oauth_client_secrets for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy worker_purges on oauth_client_secrets for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on oauth_client_secrets for all to bailiwick_owner using (true) with check (true);
grant select, insert, update (last_used_at), delete on oauth_client_secrets to bailiwick_api;
grant select (tenant_id, id), delete on oauth_client_secrets to bailiwick_worker;

-- Codes, tokens, grants, requests under way and kept consents of the protocol's library, in one table. A row that a session stands
-- behind ends with it. One statement consumes a row that is good for one use.
create table oauth_models (
  id_hash bytea primary key check (octet_length(id_hash) = 32),
  kind text not null check (kind in ('AccessToken', 'AuthorizationCode', 'Consent', 'Grant', 'Interaction', 'RefreshToken')),
  session_id uuid references sessions (id) on delete cascade,
  user_id uuid references users (id) on delete cascade,
  tenant_id uuid not null references tenants (id),
  client_id uuid not null,
  grant_id text,
  payload jsonb not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  consumed_at timestamptz,
  check (kind = 'Interaction' or user_id is not null),
  check (kind in ('Interaction', 'Consent') or (session_id is not null and grant_id is not null))
);
comment on table oauth_models is 'What the OpenID Connect provider keeps between requests';
comment on column oauth_models.id_hash is 'SHA-256 of kind and id: ids of codes and tokens are the codes and tokens';
comment on column oauth_models.session_id is 'The session that stands behind it: that of the browser, or one of the grant itself';
comment on column oauth_models.grant_id is 'The authorization that it belongs to: all its rows end together';
comment on column oauth_models.payload is 'As the library keeps it, without the id';
create index oauth_models_of_session on oauth_models (session_id) where session_id is not null;
create index oauth_models_of_person on oauth_models (user_id) where user_id is not null;
create index oauth_models_of_tenant on oauth_models (tenant_id, id_hash);
create index oauth_models_of_grant on oauth_models (grant_id) where grant_id is not null;
create index oauth_models_by_expiry on oauth_models (expires_at);
alter table oauth_models enable row level security, force row level security;
create policy system_all on oauth_models for all to bailiwick_system using (true) with check (true);
create policy worker_expires on oauth_models for all to bailiwick_worker using (expires_at <= now());
create policy worker_purges on oauth_models for all to bailiwick_worker
  using (tenant_id = nullif(current_setting('app.purged_tenant_id', true), '')::uuid);
create policy owner_all on oauth_models for all to bailiwick_owner using (true) with check (true);
grant select, insert, update, delete on oauth_models to bailiwick_system;
grant select (tenant_id, id_hash, expires_at), delete on oauth_models to bailiwick_worker;

-- A grant that outlives the browser's session has a session of its own.
alter table sessions drop constraint sessions_kind_check;
alter table sessions add constraint sessions_kind_check check (kind in ('token', 'browser', 'grant'));
comment on column sessions.kind is
  'token: its client has the tokens; browser: a cookie of the pages or the console stands for it; grant: of an application that acts while the person is away';
